"""Fields of a request on the command line: NAME=VALUE, where @FILE stands for a file."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from grader.cli.parameters import LocalPath, text_of

FILE = LocalPath(exists=True, dir_okay=False)
JSON_STARTS = ("[", "{")
WORDS: dict[str, Any] = {"null": None, "true": True, "false": False}


def fields_of(words: Iterable[str]) -> dict[str, Any]:
    """Return the values by name; a path for @FILE, JSON as its value, and any other value as text.

    The server reads numbers and times from text.
    """
    fields: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{word!r} must be NAME=VALUE.")
        fields[name] = _value(name, value)
    return fields


def texts_of(words: Iterable[str]) -> dict[str, Any]:
    """Return the values by name, with the text of each file."""
    return {
        name: text_of(value) if isinstance(value, Path) else value for name, value in fields_of(words).items()
    }


def _value(name: str, value: str) -> Any:
    if value.startswith("@"):
        path: Path = FILE.convert(value[1:], None, None)
        return path
    if value in WORDS:
        return WORDS[value]
    if not value.startswith(JSON_STARTS):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise click.UsageError(f"The value of {name} is not valid JSON.") from None
