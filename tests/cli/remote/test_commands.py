"""Commands of organizers over HTTP: which line goes where, and that both say the same."""

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click
import pytest

from grader.cli import main

ENTRIES = {name: entry for name, entry in main._entries.items() if entry.over_http}


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        for each, below in command.commands.items():
            yield from commands(below, f"{name} {each}")
    else:
        yield name, command


def of_both(name: str) -> tuple[dict[str, click.Command], dict[str, click.Command]]:
    entry = ENTRIES[name]
    here, there = (getattr(import_module(module), name) for module in (entry.module, entry.over_http))
    return dict(commands(here, name)), dict(commands(there, name))


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_a_command_takes_the_same_words_here_and_over_http(name: str) -> None:
    here, there = of_both(name)
    assert set(there) <= set(here)
    for words, command in there.items():
        taken = [
            {(each.name, tuple(each.opts), each.required, each.nargs) for each in both.params}
            for both in (here[words], command)
        ]
        extra = {("server", ("--server",), False, 1), ("as_json", ("--json",), False, 1)}
        assert taken[1] - taken[0] <= extra, words
        assert taken[0] <= taken[1], words


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_every_command_remains_available_when_a_server_is_named(
    name: str, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRBOARD_SERVER", "http://127.0.0.1:9")
    here, there = of_both(name)
    page = run(name, "--help").stdout
    for words in set(here) - set(there):
        assert f"  {words.split()[1]} " in page
        help_page = run(*words.split(), "--help")
        assert (help_page.exit_code, help_page.stderr) == (0, "")
        assert "Usage: " in help_page.stdout


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_command_of_this_machine_says_so_when_a_server_is_named(
    run: Any, service: Any, live_site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in service.settings.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FAIRBOARD_SERVER", live_site.address)
    made = run("user", "create", "zoe")
    assert made.exit_code == 0, made.stderr
    assert "user create works on this machine, not on the site of FAIRBOARD_SERVER." in made.stderr
    assert not live_site.requests


@pytest.fixture
def both(run: Any, service: Any, live_site: Any, monkeypatch: Any) -> Any:
    """Run a command here and over HTTP, as ada; return what each printed."""
    token = live_site.make_token()

    def run_both(*words: str) -> tuple[Any, Any]:
        for name, value in service.settings.environment().items():
            monkeypatch.setenv(name, value)
        here = run(*words)
        with monkeypatch.context() as patch:
            patch.setenv("FAIRBOARD_TOKEN", token)
            there = run(*words, "--server", live_site.address)
        return here, there

    return run_both


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_tokens_are_listed_alike_and_the_first_line_names_the_site(
    both: Any, run: Any, live_site: Any, monkeypatch: Any
) -> None:
    here, there = both("token", "list", "ada")
    assert there.stdout == here.stdout
    assert there.stderr == f"On {live_site.address}/:\n"
    monkeypatch.setenv("FAIRBOARD_TOKEN", live_site.make_token())
    made = run("token", "create", "ada", "--scope", "read", "--days", "9", "--server", live_site.address)
    assert made.stdout.startswith("fb_")
    monkeypatch.setenv("FAIRBOARD_SERVER", live_site.address)
    listed = json.loads(run("token", "list", "ada", "--json").stdout)["tokens"]
    assert listed[0]["scopes"] == ["read"]
    assert run("token", "revoke", "ada", str(listed[0]["id"])).exit_code == 0
    assert len(json.loads(run("token", "list", "ada", "--json").stdout)["tokens"]) == len(listed) - 1
    assert "ada's, not bob's" in run("token", "list", "bob").stderr


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_stored_login_redirects_no_command_of_organizers(
    run: Any, service: Any, live_site: Any, monkeypatch: Any
) -> None:
    run("login", live_site.address, "--token-stdin", input=live_site.make_token())
    for name, value in service.settings.environment().items():
        monkeypatch.setenv(name, value)
    asked = len(live_site.requests)
    assert run("token", "list", "ada").exit_code == 0
    assert len(live_site.requests) == asked
