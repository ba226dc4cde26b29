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
    assert (result.exit_code, token in result.output) == (0, False), result.output
    file = config_folder / "login.json"
    assert (file.stat().st_mode & 0o777, config_folder.stat().st_mode & 0o777) == (0o600, 0o700)
    assert json.loads(file.read_text())["token"] == token
    assert run("team").stdout.startswith("Entry: ")
    assert run("logout").stdout == "Logged out.\n"
    away = run("team")
    assert (list(config_folder.iterdir()), away.exit_code) == ([], 1)
    assert "Run `fairboard login SITE`" in away.stderr


def test_an_invalid_token_is_not_stored(run, live_site, config_folder):
    result = run("login", live_site.address, "--token-stdin", input="fb_wrong")
    assert (result.exit_code, config_folder.exists()) == (connection.REFUSED, False)


def test_a_stored_token_is_sent_only_to_its_own_server_and_read_only_from_a_private_file(
    run, live_site, config_folder
):
    run("login", live_site.address, "--token-stdin", input=live_site.make_token())
    result = run("team", "--site", "http://127.0.0.1:9")
    assert (result.exit_code, "There is no token for http://127.0.0.1:9/" in result.stderr) == (1, True)
    (config_folder / "login.json").chmod(0o644)
    assert "Other users can read" in run("team").stderr
    (config_folder / "login.json").chmod(0o600)
    (config_folder / "login.json").write_text("{")
    assert "is damaged" in run("team").stderr
