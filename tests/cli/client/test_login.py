"""`fairboard login`: token storage, file permissions, and servers that receive the token."""

import json

import pytest

from grader.cli.client import connection

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_login_prompts_for_a_hidden_token_and_stores_it_in_a_private_file(
    run, service, live_site, config_folder
):
    service.competition()
    token = live_site.make_token()
    result = run("login", live_site.address, input=f"{token}\n")
    assert result.exit_code == 0, result.output
    assert token not in result.output
    file = config_folder / "login.json"
    assert (file.stat().st_mode & 0o777, config_folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert json.loads(file.read_text())["token"] == token
    assert run("team").stdout.startswith("Entry: ")
    assert run("logout").stdout == "Logged out.\n"
    assert (list(config_folder.iterdir()), run("team").exit_code) == ([], 1)


def test_an_invalid_token_is_not_stored(run, live_site, config_folder):
    result = run("login", live_site.address, "--token-stdin", input="fb_wrong")
    assert (result.exit_code, config_folder.exists()) == (connection.REFUSED, False)
    assert "Error: This request needs a valid API token" in result.stderr


def test_a_stored_token_is_sent_only_to_its_own_server(run, live_site):
    run("login", live_site.address, "--token-stdin", input=live_site.make_token())
    result = run("team", "--site", "http://127.0.0.1:9")
    assert (result.exit_code, "There is no token for http://127.0.0.1:9/" in result.stderr) == (1, True)


def test_a_login_file_that_others_can_read_is_rejected(run, live_site, config_folder):
    run("login", live_site.address, "--token-stdin", input=live_site.make_token())
    (config_folder / "login.json").chmod(0o644)
    assert "Other users can read" in run("team").stderr
    (config_folder / "login.json").chmod(0o600)
    (config_folder / "login.json").write_text("{")
    assert "is damaged" in run("team").stderr


def test_without_a_login_a_command_names_fairboard_login(run, database_url: str):
    result = run("submissions")
    assert (result.exit_code, "Run `fairboard login`" in result.stderr) == (1, True)


def test_slugs_of_known_competitions_are_completed_without_a_request(run, service, live_site):
    service.competition("hate")
    service.competition("spam")
    run("login", live_site.address, "--token-stdin", input=live_site.make_token())
    before = len(live_site.requests)
    assert [each.value for each in connection.known_competitions(None, None, "h")] == ["hate"]
    assert len(live_site.requests) == before
