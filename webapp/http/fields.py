"""Field types, path parameters, base classes for API models, and the fields of forms."""

from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Self, get_args, get_origin

from flask import Flask, request
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)
from werkzeug.routing import BaseConverter, IntegerConverter, Map

from grader.services.site.paging import MOST_PER_PAGE, PAGE_SIZE, Part
from grader.text import is_storable, iso, utc

LARGEST = 2**31 - 1  # the range of PostgreSQL's integer, and therefore of every id and count
TEXT_MAX_LENGTH = 256  # characters of a search text


class NumberInPath(IntegerConverter):
    """A number in a path, up to the largest PostgreSQL integer."""

    regex = "[0-9]{1,10}"

    def __init__(self, url_map: Map) -> None:
        super().__init__(url_map, max=LARGEST)


class NameInPath(BaseConverter):
    """A text in a path, without characters that cannot be stored."""

    regex = "[^/\0\ud800-\udfff]+"
    part_isolating = True


def init_app(app: Flask) -> None:
    """Restrict the path parameters of all routes. Call this before adding the first route."""
    app.url_map.converters |= {"int": NumberInPath, "default": NameInPath, "string": NameInPath}


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("must be text without NUL characters (U+0000) or lone surrogates")
    return text


def _aware(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise ValueError("must include a time zone, such as 2030-01-31T12:00:00Z")
    return utc(time)


Text = Annotated[str, AfterValidator(_storable)]
Search = Annotated[Text, Field(max_length=TEXT_MAX_LENGTH)]
Binary = WithJsonSchema({"type": "string", "format": "binary"})
Number = Annotated[int, Field(ge=0, le=LARGEST)]
Moment = Annotated[
    datetime,
    AfterValidator(_aware),
    PlainSerializer(iso, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


Score = Annotated[float, Field(description="A score, rounded to the decimals of the metric.")]


def is_list(annotation: Any) -> bool:
    """Return whether a field is a list or an optional list."""
    return any(get_origin(each) in (list, tuple) for each in (annotation, *get_args(annotation)))


class Sent(BaseModel):
    """The fields of a request. Unknown names are rejected, so that typos are reported."""

    model_config = ConfigDict(extra="forbid")

    @field_validator("*", mode="before")
    @classmethod
    def _no_words_for_flags(cls, value: object, info: ValidationInfo) -> object:
        """Reject what pydantic would convert: words such as `"yes"` to a boolean, booleans to a number."""
        kinds = list(_kinds(cls.model_fields[str(info.field_name)].annotation))
        is_word = isinstance(value, str) and value.casefold() not in ("true", "false", "1", "0")
        if bool in kinds and is_word:
            raise ValueError("must be true or false")
        if int in kinds and isinstance(value, bool):
            raise ValueError("must be a valid integer")
        return value


class Confirmation(Sent):
    """The confirmation of an action."""

    confirm: Text = ""


class Sized(Sent):
    """The page size of a list."""

    per_page: Annotated[
        Annotated[int, Field(ge=1, le=MOST_PER_PAGE)] | None,
        Field(
            description=f"The number of rows per response: {PAGE_SIZE} by default, at most {MOST_PER_PAGE}."
        ),
    ] = None

    @property
    def page_size(self) -> int:
        """The number of rows per response."""
        return self.per_page or PAGE_SIZE


class Paged(Sent):
    """The number of the requested page of a list."""

    page: Annotated[Number, Field(ge=1)] = 1


class Asked(Sized):
    """The pagination parameters of a list."""

    cursor: Annotated[
        Number | None, Field(description="The start of the next part of the list, taken from `next`.")
    ] = None

    @property
    def part(self) -> Part:
        """The requested part of the list."""
        return Part(self.cursor, self.page_size)


class FileForm(Sent):
    """An upload form with a file.

    If the whole body is the file, the other fields are query parameters.
    """

    file: Annotated[Any, Binary]


class Answer(BaseModel):
    """Base class of response models. Fields keep their documented order."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    @classmethod
    def of(cls, source: object, /, **others: Any) -> Self:
        """Create the response from `others` and the source's attributes."""
        copied = {name: getattr(source, name) for name in _required(cls) if name not in others}
        return cls(**copied, **others)


@cache
def _required(answer: type[Answer]) -> tuple[str, ...]:
    return tuple(name for name, field in answer.model_fields.items() if field.is_required())


PageSize = Annotated[
    int, Field(description="The maximum number of rows in this response, as requested with `per_page`.")
]


class Problem(BaseModel):
    """A problem of a request or a file, or a note on a file."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str
    fields: list[str] = []
    line: int | None = None
    lines: list[int] = []
    count: int | None = None
    expected: str | None = None
    found: str | None = None


# Problems are stored as JSON and need no conversion.
Problems = Annotated[list[Any], GetPydanticSchema(lambda _, schema_of: schema_of(list[Problem]))]


class ErrorAnswer(BaseModel):
    """The body of every error response."""

    model_config = ConfigDict(extra="allow", title="Error")

    code: int
    error: str
    message: str
    problems: list[Problem] | None = None
    incident: str | None = None


def entered(takes: type[BaseModel]) -> dict[str, Any]:
    """Return the form's fields by name, not validated.

    Missing required texts are empty; other missing fields are absent.
    """
    if issubclass(takes, FileForm):  # the file is read before; the other fields may be query parameters
        sent = request.values
        return {"file": None} | {name: sent[name] for name in takes.model_fields if name in sent}
    values: dict[str, Any] = {}
    for name, field in takes.model_fields.items():
        kinds = list(_kinds(field.annotation))
        text = request.form.get(name, "")
        if bool in kinds:
            values[name] = text == "yes"
        elif is_list(field.annotation):
            values[name] = request.form.getlist(name)
        elif datetime in kinds:
            values[name] = entered_moment(name)
        elif text or (int not in kinds and str in kinds and (field.is_required() or name in request.form)):
            values[name] = text
    return {name: value for name, value in values.items() if value is not None}


def _kinds(annotation: Any) -> Iterator[Any]:
    """Return the types in an annotation such as `Annotated[int, …] | None`."""
    yield annotation
    for each in get_args(annotation):
        yield from _kinds(each)


def entered_moment(name: str) -> datetime | str | None:
    """Return the time in a field, or its text if it is invalid."""
    text = request.form.get(name, "")
    try:
        return utc(datetime.fromisoformat(text)) if text else None
    except ValueError:
        return text
