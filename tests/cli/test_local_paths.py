"""Rejection of URLs as local paths, without creating folders."""

import click
import pytest

from grader.cli import main
from grader.cli.parameters import LocalPath
from grader.text import is_elsewhere


def paths_of(command, name="fairboard"):
    """Return every path parameter of a command and its subcommands."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            yield from paths_of(command.get_command(context, each), f"{name} {each}")
    for parameter in command.params:
        types = getattr(parameter.type, "types", [parameter.type])
        if any(isinstance(each, click.Path) for each in types):
            yield f"{name} {parameter.name}", parameter


def test_every_path_of_every_command_is_local():
    paths = dict(paths_of(main))
    assert len(paths) > 20
    for name, parameter in paths.items():
        types = getattr(parameter.type, "types", [parameter.type])
        assert all(isinstance(each, LocalPath) for each in types), name
    with pytest.raises(click.BadParameter, match=r"is a URL or a remote address\."):
        LocalPath().convert("s3://bucket/x", None, None)


@pytest.mark.parametrize(
    "address",
    [
        *("s3://bucket/x", "S3://bucket/x", "https://example.org/x", "file:///srv/x", "s3:/bucket/x"),
        *("backup@host:/srv/x", "backup@host:x", "backup@host:", "host.example.org:/srv/x"),
        *("192.0.2.7:/srv/x", "[2001:db8::7]:/srv/x", "backup@[2001:db8::7]:x"),
    ],
)
def test_addresses_are_elsewhere(address):
    assert is_elsewhere(address)


@pytest.mark.parametrize(
    "path", ["/srv/2026-03-01T10:00", "./s3:/bucket", "a:b", "C:/backups", "backups/x", "10:30/x", "-"]
)
def test_a_local_path_may_contain_a_colon(path):
    assert not is_elsewhere(path)


def test_the_data_folder_cannot_be_a_url(run, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", "s3://bucket/fairboard")
    result = run("migrate")
    assert (result.exit_code, "is a URL or a remote address." in result.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []
