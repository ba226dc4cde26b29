"""Links and notes of submissions: the competition's fields and the values of a submission.

A value that its field no longer accepts, for example after a change of the kind, is hidden but kept.
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

from grader.errors import ParticipantError, SeveralProblems
from grader.hosts import PORTS, ascii_name
from grader.text import one_line

MAX_FIELDS, NAME_MAX_LENGTH, VALUE_MAX_LENGTH = 10, 64, 300
WHOLE_NUMBERS = 2**53  # larger ones are not exact in JavaScript
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_NOT_IN_LINKS = re.compile(r"[\s\"<>\\]")
# Top-level domains of names that exist only within a network.
_PRIVATE = {"arpa", "corp", "home", "internal", "intranet", "invalid", "lan", "local", "localhost", "private"}

Value = str | int | float


class InvalidDetails(SeveralProblems, ParticipantError):
    """Some links or notes of a submission are invalid."""

    public_name = "invalid_details"


class FieldKind(StrEnum):
    """The kinds of links and notes."""

    LINK = "link"
    TEXT = "text"
    NUMBER = "number"


class EntryField(NamedTuple):
    """A link or note that teams may add to a submission; finals need the required ones."""

    name: str
    kind: FieldKind
    is_required: bool

    @classmethod
    def parse(cls, line: str) -> Self:
        """Return the field of a line; raise ValueError."""
        name, _, rest = line.rpartition(":")
        kind, comma, required = (part.strip().casefold() for part in rest.partition(","))
        name, is_required = one_line(name, NAME_MAX_LENGTH + 1), required == "required"
        if 0 < len(name) <= NAME_MAX_LENGTH and "=" not in name and is_required == bool(comma):
            with suppress(ValueError):
                return cls(name, FieldKind(kind), is_required)
        raise ValueError(
            f"{line.strip()!r} is not a field. Write a name of at most {NAME_MAX_LENGTH} characters without "
            "= and a kind (link, text or number), such as Paper: link, required."
        )

    def value(self, text: str) -> Value:
        """Return the value in a text; raise ValueError."""
        if len(text) > VALUE_MAX_LENGTH:
            raise ValueError(f"Shorten it to at most {VALUE_MAX_LENGTH} characters.")
        match self.kind:
            case FieldKind.LINK if not is_public_link(text):
                raise ValueError(
                    "Enter a public link that starts with https:// or http:// and contains no password."
                )
            case FieldKind.NUMBER:
                number = float(text) if _NUMBER.fullmatch(text) else math.inf
                if math.isinf(number):
                    raise ValueError("Enter a number such as 7000000 or 7e6.")
                return int(number) if number.is_integer() and abs(number) <= WHOLE_NUMBERS else number
        return text


class Detail(NamedTuple):
    """A link or note of a submission."""

    name: str
    value: Value
    is_link: bool = False

    @property
    def text(self) -> str:
        """The value as displayed."""
        return self.value if isinstance(self.value, str) else f"{self.value:,}"


def is_public_link(text: str) -> bool:
    """Return whether a text is a web address on a public host, without a user name or password."""
    try:
        parts = urlsplit(text)
        _, labels = parts.port, ascii_name(parts.hostname or "").rstrip(".").split(".")
    except ValueError:
        return False
    is_public = len(labels) > 1 and labels[-1][0].isalpha() and labels[-1] not in _PRIVATE
    is_plain = text.isprintable() and not _NOT_IN_LINKS.search(text)
    return is_public and is_plain and parts.scheme in PORTS and "@" not in parts.netloc


@lru_cache(maxsize=64)
def fields_of(setting: str) -> tuple[EntryField, ...]:
    """Return the fields of a valid setting."""
    return tuple(map(EntryField.parse, setting.splitlines()))


def names(setting: str) -> tuple[str, ...]:
    """Return the names of the fields."""
    return tuple(field.name for field in fields_of(setting))


def shown(setting: str, stored: Mapping[str, Any]) -> tuple[Detail, ...]:
    """Return the values of a competition's current fields, in their order."""
    details = []
    for field in fields_of(setting):
        if field.name in stored:
            with suppress(ValueError):
                value = field.value(str(stored[field.name]))
                details.append(Detail(field.name, value, field.kind is FieldKind.LINK))
    return tuple(details)


def values(setting: str, stored: Mapping[str, Any]) -> dict[str, Value]:
    """Return the shown values by name."""
    return {detail.name: detail.value for detail in shown(setting, stored)}


def missing(setting: str, stored: Mapping[str, Any]) -> list[str]:
    """Return the names of required fields without a value."""
    known = values(setting, stored)
    return [field.name for field in fields_of(setting) if field.is_required and field.name not in known]


def edited(setting: str, stored: Mapping[str, Any], sent: Mapping[str, Value]) -> dict[str, Any]:
    """Return stored values with changes, where a blank removes a value; raise InvalidDetails."""
    fields, details, problems = {field.name: field for field in fields_of(setting)}, dict(stored), []
    for name, value in sent.items():
        text = one_line(str(value), VALUE_MAX_LENGTH + 1)
        if name not in fields:
            known = f"Use one of these: {', '.join(fields)}." if fields else "This competition has no fields."
            problems.append(f"There is no field {one_line(name, NAME_MAX_LENGTH)!r}. {known}")
        elif not text:
            details.pop(name, None)
        else:
            try:
                details[name] = fields[name].value(text)
            except ValueError as error:
                problems.append(f"{name}: {error}")
    if problems:
        raise InvalidDetails(problems)
    return details
