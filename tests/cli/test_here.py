"""Local commands with an in-process application: no shell privileges for requests."""

import http.client
from pathlib import Path

import pytest

from grader.cli.organize.here import site_here
from grader.client import Client, Refused
from grader.sandbox import layers
from grader.services.audit.log import Actor
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.setup import drafts
from webapp.http.site import Shell

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
ROOT = Path(__file__).parents[2]
SPOOFED = {
    "Fairboard-Shell": "1",
    "fairboard.shell": "Shell()",
    "Shell": "shell (root@host)",
    "X-Forwarded-For": "127.0.0.1",
    "Host": "127.0.0.1",
    "REMOTE_USER": "root",
    "Authorization": "Bearer ",
}


@on_sqlite
@pytest.mark.usefixtures("admin")
def test_a_network_request_never_has_shell_rights_even_while_a_command_runs(service, live_site):
    service.competition()
    organize = "/api/v1/competitions/toxicity/organize"
    with site_here() as here:
        assert here.organize("toxicity").settings()["settings"]["title"]
        for method, path in (("GET", organize), ("GET", "/api/v1/people"), ("POST", "/api/v1/invitations")):
            for headers in ({}, SPOOFED):
                connection = http.client.HTTPConnection(live_site.address.removeprefix("http://"))
                connection.request(method, path, headers=headers)
                assert connection.getresponse().status == 401
                connection.close()
    with Client(live_site.address) as stranger, pytest.raises(Refused) as refused:
        stranger.organize("toxicity").settings()
    assert refused.value.status == 401


@on_sqlite
def test_values_added_by_a_web_server_grant_no_shell_rights(make_app, service):
    app = make_app(service.settings)
    assert app.extensions["fairboard"].shell is None
    environ = {"fairboard.shell": Shell(), "shell": "1", "REMOTE_ADDR": "127.0.0.1", "REMOTE_USER": "root"}
    assert app.test_client().get("/api/v1/people", environ_overrides=environ).status_code == 401


def test_only_the_module_of_commands_creates_an_application_for_the_shell():
    found = {
        str(path.relative_to(ROOT))
        for folder in ("grader", "webapp")
        for path in (ROOT / folder).rglob("*.py")
        if "Shell(" in path.read_text() or "shell=shell" in path.read_text()
    }
    assert found == {"grader/cli/organize/here.py", "webapp/app.py"}


@on_sqlite
@pytest.mark.usefixtures("admin")
def test_a_command_acts_as_a_user_only_if_it_names_one(service):
    service.user("ada")
    with site_here(acts_as="ada") as here:
        assert here.call("GET", "tokens") == {"tokens": [], "next": None}
        with pytest.raises(Refused) as refused:
            here.call("GET", "people")
    assert refused.value.status == 403


@on_sqlite
@pytest.mark.skipif(bool(layers().refusal), reason=str(layers().refusal))
def test_a_metric_file_is_uploaded_from_the_shell(admin, service, tmp_path: Path):
    source, sample = tmp_path / "metric.py", tmp_path / "sample.csv"
    source.write_text("def grade(submission, answers):\n    return 0.5\n")
    sample.write_text("id,price\n1,0.5\n2,1.5\n")
    with service.database.write() as session:
        settings = CompetitionSettings().changed(title="Next")
        drafts.create(
            session, slug="next", settings=settings, actor=Actor.of(service.user()), now=service.now
        )
    result = admin(
        "competition",
        "metric-file",
        "next",
        str(source),
        str(sample),
        "--lowest",
        "--title",
        "Half",
        "--nonnegative",
    )
    assert result.exit_code == 0, result.output
    with site_here() as here:
        metric = here.organize("next").settings()["settings"]["metric"]
    python = metric["python"]
    assert (metric["name"], python["title"], python["direction"]) == ("python", "Half", "lowest")
    assert python["nonnegative"] is True
    assert service.storage.read(metric["source"]) == source.read_bytes()
    assert service.storage.read(metric["python"]["sample"]) == sample.read_bytes()
    source.write_text("def other(): pass\n")
    assert "must define score" in admin("competition", "metric-file", "next", str(source)).output
