"""Query parameters, form fields and JSON of a request; unreadable input is an error 400.

A path that names nothing is 404, by the converters of the routes. What cannot be read of an address or of a
JSON body is 400 and is named; what cannot be read of a form is for its page to tell, beside the field.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from flask import Flask, request
from werkzeug.routing import BaseConverter, IntegerConverter, Map

from webapp.http.errors import BadRequest

LARGEST = 2**31 - 1  # of PostgreSQL's integer, and so of every number that a row has
TEXT_MAX_LENGTH = 256  # of what is searched for
SHOWN_LENGTH = 40  # of what could not be read
YES, NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})
Choice = TypeVar("Choice", bound=StrEnum)


class Unreadable(BadRequest):
    """An invalid value in the address or the JSON body."""

    public_name = "unreadable"

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"`{_shown(name)[1:-1]}` must be {expected}, not {_told(value)}.")


class UnreadableEntry(BadRequest):
    """Text in a form's number field that is not a whole number."""

    public_name = "unreadable_entry"

    def __init__(self, text: str) -> None:
        super().__init__(f"Give a whole number up to {LARGEST:,}, not {_shown(text)}.")


class UnreadableBody(BadRequest):
    """A body that is not a JSON object."""

    public_name = "unreadable_body"
    message = "The body must be one JSON object, in UTF-8."


class Number(IntegerConverter):
    """A number in a path; no row has a larger one than PostgreSQL's integer."""

    regex = "[0-9]{1,10}"

    def __init__(self, url_map: Map) -> None:
        super().__init__(url_map, max=LARGEST)


class Name(BaseConverter):
    """A part of a path; what no text can hold names nothing."""

    regex = "[^/\0\ud800-\udfff]+"
    part_isolating = True


def init_app(app: Flask) -> None:
    """Bound what the paths of all routes may hold; to be called before the first route is added."""
    app.url_map.converters |= {"int": Number, "default": Name, "string": Name}


def whole_number(text: str) -> int | None:
    """Return the number that a text is, in the digits 0 to 9 and as large as a row's; None for another."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return number if len(digits) <= 10 and (number := int(digits)) <= LARGEST else None


def asked_number(name: str) -> int | None:
    """Return the number that the address names, None where it names none; raise Unreadable."""
    text = request.args.get(name, "")
    if not text:
        return None
    number = whole_number(text)
    if number is None:
        raise Unreadable(name, text, f"a whole number from 0 to {LARGEST:,}")
    return number


def asked_page() -> int:
    """Return the page of a list that the address names, the first by default; raise Unreadable."""
    text = request.args.get("page", "1")
    page = whole_number(text)
    if not page:
        raise Unreadable("page", text, f"a whole number from 1 to {LARGEST:,}")
    return page


def asked_text(name: str) -> str:
    """Return the text that the address asks for, as much of it as is looked at."""
    return request.args.get(name, "")[:TEXT_MAX_LENGTH]


def asked_choice(name: str, choices: type[Choice]) -> Choice | None:
    """Return which of some words the address names, None where it names none; raise Unreadable."""
    text = request.args.get(name, "")
    if not text:
        return None
    try:
        return choices(text)
    except ValueError:
        raise Unreadable(name, text, f"one of {', '.join(choices)}") from None


def entered_number(name: str) -> int | None:
    """Return the number that was entered into a form's field, None for nothing; raise UnreadableEntry."""
    text = request.form.get(name, "").strip()
    if not text:
        return None
    number = whole_number(text)
    if number is None:
        raise UnreadableEntry(text)
    return number


def _told(value: object) -> str:
    match value:
        case str():
            return _shown(value)
        case bool():
            return str(value).lower()
        case list():
            return "a list"
        case Mapping():
            return "an object"
        case int() if abs(value) > 10**SHOWN_LENGTH:
            return "a number that long"
    return str(value)


def _shown(text: str) -> str:
    """Return the beginning of a text in quotes, with what is not seen in Python's notation."""
    return repr(text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…")
