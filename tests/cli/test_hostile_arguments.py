"""Hostile arguments for every command: acceptance or rejection without a traceback."""

from collections.abc import Iterator, Sequence

import click
import pytest

from grader.cli import main

pytestmark = [pytest.mark.both_databases, pytest.mark.system]

GROUPS = ("competition", "user", "token")
# Values that only one of the two databases rejects.
ONLY_ON_SQLITE, ONLY_ON_POSTGRESQL = ("18446744073709551616",), ("a\0b",)
# Values for a command's other arguments; arguments that are not listed get an unknown value.
KNOWN = {"slug": "toxicity", "submission_id": "1", "number": "1", "user": "ada", "name": "ada"}


@pytest.fixture
def submitted(service):
    """An installation with a competition, an account and a submission."""
    service.submit(service.competition())


def commands(group: click.Group, *words: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    with click.Context(group) as context:
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            if isinstance(command, click.Group):
                yield from commands(command, *words, name)
            elif command is not None:
                yield (*words, name), command


def calls(command: click.Command, words: Sequence[str], values: Sequence[str]) -> Iterator[list[str]]:
    """Return one call for each value and each argument or option that accepts text or numbers."""
    arguments = [each for each in command.params if isinstance(each, click.Argument)]
    for tried in command.params:
        if isinstance(tried.type, click.Path | click.Choice) or getattr(tried, "is_flag", False):
            continue
        for value in values:
            given = [value if each is tried else KNOWN.get(each.name or "", "1") for each in arguments]
            yield [*words, *([] if tried in arguments else [tried.opts[0], value]), "--", *given]


@pytest.mark.usefixtures("submitted")
def test_no_value_of_any_option_breaks_a_command(host, database_url: str):
    values = ONLY_ON_SQLITE if database_url.startswith("sqlite") else ONLY_ON_POSTGRESQL
    tried = [
        call
        for name in GROUPS
        for words, command in commands(main.get_command(click.Context(main), name), name)
        for call in calls(command, words, values)
    ]
    assert len(tried) > 50
    for call in tried:
        result = host(*call)
        is_refused = result.exception is None or isinstance(result.exception, SystemExit)
        assert is_refused and result.exit_code in range(6), (call, result.exception)


@pytest.mark.usefixtures("submitted")
@pytest.mark.parametrize(
    "text", ['slug = "a\\u0000b"', 'title = "a\\u0000b"', '[metric]\nidentities = ["male", "a\\u0000b"]']
)
def test_a_competition_file_with_nul_breaks_no_command(host, tmp_path, text: str):
    file = tmp_path / "competition.toml"
    file.write_text(text, encoding="utf-8")
    result = host("competition", "apply", "toxicity", file)
    assert result.exit_code in (0, 1) and isinstance(result.exception, SystemExit | None), result.exception
