"""Request parameters in queries, forms and paths.

Path converters map invalid paths to 404. An invalid value in the query or a JSON body causes an error 400
that names the field. Pages show an invalid form value next to its field.
"""

from collections.abc import Mapping

from flask import Flask
from werkzeug.routing import BaseConverter, IntegerConverter, Map

from webapp.http.errors import BadRequest

LARGEST = 2**31 - 1  # the range of PostgreSQL's integer, and therefore of every id and count
TEXT_MAX_LENGTH = 256  # characters of a search text
SHOWN_LENGTH = 40  # characters
YES, NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off", ""})


class Unreadable(BadRequest):
    """An invalid value in the query or the JSON body."""

    public_name = "unreadable"

    def __init__(self, name: str, value: object, expected: str) -> None:
        super().__init__(f"`{_shown(name)[1:-1]}` must be {expected}, not {_told(value)}.")


class UnreadableBody(BadRequest):
    """A body that is not a JSON object."""

    public_name = "unreadable_body"
    message = "The body must be a JSON object in UTF-8."


class Number(IntegerConverter):
    """A number in a path, up to the largest PostgreSQL integer."""

    regex = "[0-9]{1,10}"

    def __init__(self, url_map: Map) -> None:
        super().__init__(url_map, max=LARGEST)


class Name(BaseConverter):
    """A text in a path, without characters that cannot be stored."""

    regex = "[^/\0\ud800-\udfff]+"
    part_isolating = True


def init_app(app: Flask) -> None:
    """Restrict the path parameters of all routes. Call this before adding the first route."""
    app.url_map.converters |= {"int": Number, "default": Name, "string": Name}


def whole_number(text: str) -> int | None:
    """Parse a number in ASCII digits up to LARGEST; return None for any other text."""
    if not (text.isascii() and text.isdigit()):
        return None
    digits = text.lstrip("0") or "0"
    return number if len(digits) <= 10 and (number := int(digits)) <= LARGEST else None


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
            return "a number of that length"
    return str(value)


def _shown(text: str) -> str:
    """Return the start of a text in quotes, with invisible characters escaped."""
    return repr(text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…")
