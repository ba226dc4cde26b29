"""Organizers' commands: site, token, user, and the requests of `fairboard api`."""

import json

import pytest
from sqlalchemy import select

from grader.models import ApiToken, AuditEntry, CompetitionState

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
STATE = "competitions/toxicity/organize/state"


def tokens(service):
    with service.database.read() as session:
        return list(session.scalars(select(ApiToken)))


def test_a_command_acts_as_the_first_administrator_with_a_token_that_ends_with_it(host, service):
    service.user("ada")
    assert "root" in host("user", "list").stdout
    assert tokens(service) == []
    with service.database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "account.act_as")).one()
        assert (entry.actor, entry.origin.partition(" ")[0]) == (None, "shell")


def test_a_command_acts_as_the_named_user(host, service):
    service.user("ada")
    refused = host("user", "list", "--as", "ada")
    assert (refused.exit_code, tokens(service)) == (3, [])
    assert host("token", "list", "--as", "nobody").exit_code == 1


def test_without_an_administrator_a_command_names_the_remedies(host, service):
    with service.database.write() as session:
        session.merge(service.user("root")).is_admin = False
    refused = host("competition", "list")
    assert (refused.exit_code, "fairboard user create NAME --admin" in refused.stderr) == (1, True)


def test_a_named_site_receives_the_token_of_the_environment(run, live_site, monkeypatch):
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    listed = run("token", "list", "--site", live_site.address)
    assert listed.exit_code == 0, listed.output
    assert listed.stderr == f"On {live_site.address}/:\n"
    (token_id,) = [line.split()[0] for line in listed.stdout.splitlines()[1:]]
    assert run("token", "revoke", "--site", live_site.address, token_id).exit_code == 0
    assert run("token", "list", "--site", live_site.address).exit_code == 3


def test_a_stored_login_does_not_redirect_organizers_commands(host, live_site, config_folder):
    host("login", live_site.address, "--token-stdin", input=live_site.make_token())
    (config_folder / "login.json").write_text(json.dumps({"server": "http://127.0.0.1:9/", "token": "fb_x"}))
    assert host("competition", "list").exit_code == 0


def test_a_stopped_site_is_unreachable(admin, service, monkeypatch):
    service.user("root", is_admin=True)
    monkeypatch.setattr("grader.client.transport.PAUSES", ())
    monkeypatch.setenv("FAIRBOARD_PORT", "9")
    stopped = admin("competition", "list")
    assert (stopped.exit_code, tokens(service)) == (5, [])


def test_api_sends_fields_and_prints_json(host, service):
    service.competition()
    found = json.loads(host("api", "GET", "/competitions").stdout)
    assert [each["slug"] for each in found["competitions"]] == ["toxicity"]
    paused = host("api", "POST", "competitions/toxicity/organize/pause", "-f", "message=Wait.")
    assert paused.exit_code == 0, paused.output
    found = json.loads(host("api", "get", "people", "-f", "q=root").stdout)
    assert [each["name"] for each in found["people"]] == ["root"]
    changed = host("api", "PATCH", "competitions/toxicity/organize/settings", "-f", "max_daily_submissions=9")
    assert json.loads(changed.stdout)["settings"]["max_daily_submissions"] == 9


def test_api_sends_files_and_prints_text(host, service, tmp_path):
    service.competition()
    (tmp_path / "test.csv").write_text("id,text\n1,one\n")
    sent = host(
        *("api", "POST", "competitions/toxicity/organize/data"),
        *("-f", f"file=@{tmp_path}/test.csv", "-f", "description=The comments"),
    )
    assert sent.exit_code == 0, sent.output
    assert "The comments" in host("api", "GET", "competitions/toxicity/data").stdout
    exported = host("api", "GET", "competitions/toxicity/organize/exports/submissions.csv")
    assert exported.stdout.startswith("submission,team_id,")


def test_api_confirms_only_with_an_answer_or_yes(host, service):
    competition = service.competition()
    refused = host("api", "POST", f"{STATE}/archive")
    assert (refused.exit_code, "Nothing was changed" in refused.stderr) == (1, True), refused.output
    done = host("api", "POST", f"{STATE}/archive", "--yes")
    assert done.exit_code == 0, done.output
    assert service.reload(competition).state is CompetitionState.ARCHIVED


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("GET", "competitions/none"), 3),
        (("GET", "competitions", "-f", "name"), 1),
        (("POST", "competitions", "-f", "slug=[1"), 1),
        (("POST", "competitions", "-f", "file=@nowhere.csv"), 1),
    ],
)
def test_api_refuses_what_the_site_refuses_and_unreadable_fields(host, words, code):
    refused = host("api", *words)
    assert (refused.exit_code, refused.stdout) == (code, "")
