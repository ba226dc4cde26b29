"""Whatever is given to a command over HTTP is done or refused in a sentence, without a traceback."""

from collections.abc import Iterator

import click
import pytest

from grader.cli import main

COMMANDS = ("submit", "check", "submissions", "submission", "select", "leaderboard", "team", "download")
HOSTILE = ("inf", "18446744073709551616", "-1", "a\0b", "\udcff", "\u202egpj", "../../me", "x" * 10_000)


def calls(file: str) -> Iterator[list[str]]:
    """Return a call for each argument and option that takes any text or number, and each value."""
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        for tried in command.params:
            if isinstance(tried.type, click.Path | click.Choice) or getattr(tried, "is_flag", False):
                continue
            for value in HOSTILE:
                usual = [file if isinstance(each.type, click.Path) else "1" for each in arguments]
                given = [
                    value if each is tried else word for each, word in zip(arguments, usual, strict=True)
                ]
                yield [name, *([] if tried in arguments else [tried.opts[0], value]), "--", *given]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_value_of_any_option_breaks_a_command(ada, service, predictions_csv, tmp_path, monkeypatch):
    service.competition()
    monkeypatch.setattr("grader.client.transport.PAUSES", ())
    file = tmp_path / "p.csv"
    file.write_bytes(predictions_csv())
    tried = 0
    for call in calls(str(file)):
        result = ada(*call)
        tried += 1
        is_refused = result.exception is None or isinstance(result.exception, SystemExit)
        assert is_refused and result.exit_code in range(6), (call, result.exception)
    assert tried > 100
