"""Organizers' commands over HTTP, and the choice between a remote and the local site."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from grader.cli import main

SLUG = "toxicity"
FILE = """
slug = "hate"
title = "Hateful comments"

[classes]
positive = "hateful"
negative = "not hateful"

[dates]
closes = 2999-03-01

[limits]
daily = 3

[files]
solution = "solution.csv"
data = ["test.csv"]
"""
GROUPS = ("competition", "user")


@pytest.mark.parametrize("name", GROUPS)
def test_local_commands_are_available_when_a_server_is_named(name: str, run, monkeypatch: pytest.MonkeyPatch):
    here = run(name, "--help").stdout
    monkeypatch.setenv("FAIRBOARD_SERVER", "http://127.0.0.1:9")
    there = run(name, "--help").stdout
    assert re.findall(r"^  ([a-z-]+) ", there, re.M) == re.findall(r"^  ([a-z-]+) ", here, re.M)
    assert "(on this machine)" in " ".join(there.split()) and "(on this machine)" not in here
    for command in main.get_command(click.Context(main), name)._local:
        help_page = run(name, command, "--help")
        assert (help_page.exit_code, help_page.stderr) == (0, "")
        assert "Usage: " in help_page.stdout


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_local_command_states_that_it_ignores_the_named_server(
    admin, live_site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAIRBOARD_SERVER", live_site.address)
    made = admin("user", "create", "zoe")
    assert made.exit_code == 0, made.stderr
    assert (
        "user create works only with the installation on this machine, not with a remote site." in made.stderr
    )
    assert not live_site.requests


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_tokens_are_listed_identically_and_the_first_line_names_the_site(admin, run, live_site, monkeypatch):
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    here = admin("token", "list", "ada")
    there = run("token", "list", "ada", "--server", live_site.address)
    assert there.stdout == here.stdout
    assert there.stderr == f"On {live_site.address}/:\n"
    made = run("token", "create", "ada", "--scope", "read", "--days", "9", "--server", live_site.address)
    assert made.stdout.startswith("fb_")
    monkeypatch.setenv("FAIRBOARD_SERVER", live_site.address)
    listed = json.loads(run("token", "list", "ada", "--json").stdout)["tokens"]
    assert listed[0]["scopes"] == ["read"]
    assert run("token", "revoke", "ada", str(listed[0]["id"])).exit_code == 0
    assert len(json.loads(run("token", "list", "ada", "--json").stdout)["tokens"]) == len(listed) - 1
    assert "belongs to ada, not bob" in run("token", "list", "bob").stderr


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_stored_login_does_not_redirect_organizers_commands(admin, service, live_site):
    admin("login", live_site.address, "--token-stdin", input=live_site.make_token())
    asked = len(live_site.requests)
    assert admin("token", "list", "ada").exit_code == 0
    assert len(live_site.requests) == asked


@pytest.fixture
def folder(tmp_path: Path, solution_csv) -> Path:
    """The files of a competition."""
    (tmp_path / "competition.toml").write_text(FILE)
    (tmp_path / "solution.csv").write_bytes(solution_csv())
    (tmp_path / "test.csv").write_bytes(b"id,comment_text\nr0,hello\n")
    return tmp_path


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_file_creates_a_whole_competition_on_another_machine(olga, admin, folder: Path):
    made = olga("competition", "create", folder / "competition.toml", "--publish")
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("hate is a draft.\n")
    assert "2 identities are in the score: female, muslim." in made.stdout
    assert made.stdout.endswith("test.csv was added as a data file.\nhate is published.\n")
    for words in (("settings", "hate"), ("data", "hate")):
        assert olga("competition", *words).stdout == admin("competition", *words).stdout
    (folder / "new.toml").write_text("[limits]\ndaily = 7\n")
    assert olga("competition", "apply", "hate", folder / "new.toml").stdout == "Changed: limits.daily.\n"
    assert olga("competition", "change", "hate", "--daily-limit", "none").stdout == "Changed hate.\n"
    soon = f"{datetime.now(UTC) + timedelta(hours=3):%Y-%m-%dT%H:%M:00}"
    (folder / "soon.toml").write_text(f"[dates]\ncloses = {soon}\n")
    for words in (("apply", "hate", folder / "soon.toml"), ("change", "hate", "--closes", soon)):
        kept = olga("competition", *words)
        assert (kept.exit_code, "less than a day away" in kept.stderr) == (1, True), kept.output
        assert "Nothing was changed. Answer y to confirm" in kept.stderr
    assert olga("competition", *words, input="y\n").stdout == "Changed hate.\n"
    later = olga("competition", "change", "hate", "--closes", "2999-03-01")
    assert later.exit_code == 0, later.output
    assert olga("competition", "apply", "hate", folder / "soon.toml", "--yes").exit_code == 0
    assert json.loads(olga("competition", "settings", "hate", "--json").stdout)["settings"]["title"]
    again = olga("competition", "apply", "hate", folder / "competition.toml")
    assert (again.exit_code, "start a rescoring" in again.stderr) == (1, True), again.output


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_rejected_solution_leaves_no_competition(olga, folder: Path):
    words = ("--title", "Spam", "--solution", folder / "solution.csv", "--closes", "2999-01-01")
    made = olga("competition", "create", "spam", *words, "--daily-limit", "2")
    assert made.exit_code == 0, made.output
    assert re.search(r"\n\nspam opens .* UTC, closes 2999-01-01 23:59 UTC\.\n", made.stdout)
    (folder / "solution.csv").write_text("id,target\n1,maybe\n")
    refused = olga("competition", "create", "spam-2", *words)
    assert (refused.exit_code, "maybe" in refused.stderr) == (2, True)
    assert "spam-2" not in olga("competition", "list").stdout
