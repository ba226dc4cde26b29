"""Rejection of URLs as local paths, without creating folders."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from grader.cli import main
from grader.cli.parameters import LocalPath
from grader.text import is_elsewhere

ADDRESSES = (
    "s3://bucket/x",
    "S3://bucket/x",
    "https://example.org/x",
    "sftp://host/x",
    "file:///srv/x",
    "s3:/bucket/x",
    "backup@host:/srv/x",
    "backup@host:x",
    "backup@host:",
    "host.example.org:/srv/x",
    "192.0.2.7:/srv/x",
    "[2001:db8::7]:/srv/x",
    "backup@[2001:db8::7]:x",
)


def paths_of(command: click.Command, name: str = "fairboard") -> Iterator[tuple[str, click.Parameter]]:
    """Return every path parameter of a command and its subcommands."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from paths_of(found, f"{name} {each}")
    for parameter in command.params:
        types = getattr(parameter.type, "types", [parameter.type])
        if any(isinstance(each, click.Path) for each in types):
            yield f"{name} {parameter.name}", parameter


PATHS = dict(paths_of(main))


@pytest.mark.parametrize("name", sorted(PATHS))
def test_every_path_of_every_command_is_local(name: str):
    parameter = PATHS[name]
    assert all(isinstance(each, LocalPath) for each in getattr(parameter.type, "types", [parameter.type]))


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_are_no_local_paths(address: str):
    with pytest.raises(click.BadParameter, match=r"is a URL or a remote address\."):
        LocalPath().convert(address, None, None)


@pytest.mark.parametrize("variable", ["FAIRBOARD_DATA_DIR", "FAIRBOARD_CACHE_DIR"])
def test_the_folders_of_an_installation_cannot_be_urls(
    run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(variable, "s3://bucket/fairboard")
    result = run("migrate")
    assert result.exit_code == 1
    assert f"{variable}: 's3:/bucket/fairboard' is a URL or a remote address." in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_local_path_may_contain_a_colon():
    for path in ("/srv/2026-03-01T10:00", "./s3:/bucket", "a:b", "C:/backups", "backups/x", "10:30/x", "-"):
        assert not is_elsewhere(path)
