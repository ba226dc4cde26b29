"""Local commands with an in-process application: no shell privileges for requests."""

import http.client
from pathlib import Path

import pytest

from grader.cli.organize.here import site_here
from grader.client import Client, Refused
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
