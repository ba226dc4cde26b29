"""JSON API framework: operations, scopes, request and response models, token checks."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar, cast

from flask import Blueprint, Response, current_app, g, make_response, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ValidationError
from werkzeug.datastructures import MultiDict, WWWAuthenticate
from werkzeug.exceptions import BadRequest as NotJson
from werkzeug.exceptions import Unauthorized

from grader.errors import ErrorKind, Refusal
from grader.models import ApiToken
from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope, other_competition
from grader.services.site.paging import Slice
from webapp.http.bodies import FORM_TYPES
from webapp.http.context import reading
from webapp.http.fields import FileForm, is_list
from webapp.http.responses import conditional

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")
Model = TypeVar("Model", bound=BaseModel)
KEY_HEADER = "Idempotency-Key"
SHOWN_LENGTH = 40  # characters
LONGEST_NAME, MOST_LISTED = 200, 30  # characters of a field's name, problems of a request
NAMES = {"missing": "is missing", "extra_forbidden": "is not a field of this request"}
# Reasons after a comma, unlike the alternatives in quotes, and words about pydantic's order of validators.
DETAILS = re.compile(r"(, [^']| after validation).*")


@dataclass(frozen=True, slots=True)
class Operation:
    """An API route: its requirements, its models and its description.

    If `scope` is None, no token is required. An operation with `keeps_key` accepts an Idempotency-Key. With
    `spans`, tokens bound to one competition are accepted although the URL contains none.
    `takes` is the body or the form of an upload, and `answers_file` the media type of a file response. With
    `checks_version`, `If-Match` is compared.
    """

    scope: Scope | None
    tag: str
    about: str
    answers: type[BaseModel] | None = None
    status: int = 200
    query: type[BaseModel] | None = None
    takes: type[BaseModel] | None = None
    answers_file: str | None = None
    keeps_key: bool = False
    spans: bool = False
    checks_version: bool = False

    @property
    def takes_file(self) -> bool:
        """Whether the operation receives a file."""
        return self.takes is not None and issubclass(self.takes, FileForm)


OPERATIONS: dict[str, Operation] = {}
"""Operations by view name, which is the endpoint without `api.`."""


def operation(
    scope: Scope | None, **described: Any
) -> Callable[[Callable[..., Any]], Callable[..., ResponseReturnValue]]:
    """Register a view as an operation, described by the fields of `Operation`."""

    def decorate(view: Callable[..., Any]) -> Callable[..., ResponseReturnValue]:
        known = Operation(scope=scope, about=view.__doc__ or "", **described)
        OPERATIONS[view.__name__] = known

        @wraps(view)
        def answered(*args: Any, **kwargs: Any) -> ResponseReturnValue:
            response = _response(view(*args, **kwargs), known)
            is_read = known.answers is not None and request.method == "GET"
            if not is_read or response.get_etag()[0]:
                return response
            response = conditional(response)
            # The response is personal: clients may keep the ETag, but caches may not store the response.
            if scope is not None:
                response.headers["Cache-Control"] = "no-store"
            return response

        return answered

    return decorate


def validated(model: type[Model], fields: Mapping[str, Any]) -> Model:
    """Return the fields of a request as a model; raise Refusal with the first problems."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        problems = [
            {"message": _sentence(problem), "fields": [_place(problem)] if problem["loc"] else []}
            for problem in error.errors(include_url=False)[:MOST_LISTED]
        ]
        message = " ".join(str(problem["message"]) for problem in problems)
        if more := error.error_count() - len(problems):
            message += f" There are {more:,} more problems."
        raise Refusal("unreadable", ErrorKind.INVALID, message, problems=problems) from None


def texts_of(model: type[BaseModel], sent: MultiDict[str, str]) -> dict[str, Any]:
    """Return the sent texts by name; a field that is a list receives all of its values."""
    lists = {name for name, each in model.model_fields.items() if is_list(each.annotation)}
    return {name: values if name in lists else values[-1] for name, values in sent.lists()}


def body_of(model: type[BaseModel]) -> Mapping[str, Any]:
    """Return the fields of the body, which is JSON or a form."""
    if request.mimetype in FORM_TYPES:  # sent by `curl --data name=value`
        if any(name.lstrip().startswith(("{", "[")) for name in request.form):
            raise _not_json()  # `curl --data '{…}'` sends JSON with a form's content type
        return texts_of(model, request.form)
    return json_object() if request.content_length or request.mimetype else {}


def _response(answer: Any, known: Operation) -> Response:
    """Return the response of a view; models are serialized without being validated again."""
    status, headers = known.status, dict[str, str]()
    if isinstance(answer, tuple):
        answer, status, *rest = answer
        headers = rest[0] if rest else {}
    if isinstance(answer, Response):
        return answer
    if isinstance(answer, BaseModel):
        text = answer.model_dump_json(exclude_unset=True) + "\n"
        answer = current_app.response_class(text, mimetype="application/json")
    return make_response(answer, status, headers)


def json_object() -> Mapping[str, Any]:
    """Return the JSON object in the body; raise Refusal for any other body."""
    if not request.is_json:
        raise _not_json()
    sent: object = None
    # These errors mean invalid JSON, too deep nesting, and integers too long for Python to parse.
    with suppress(NotJson, RecursionError, ValueError):
        sent = request.get_json()
    if not isinstance(sent, dict):
        raise Refusal("unreadable_body", ErrorKind.INVALID, "The body must be a JSON object in UTF-8.")
    return sent


def _not_json() -> Refusal:
    message = "Send the body as JSON, with the header `Content-Type: application/json`."
    return Refusal("not_json", ErrorKind.INVALID, message)


def _sentence(problem: Any) -> str:
    """Return the problem of a field, such as `` `count` must be a valid integer, not 'two'. ``"""
    place, kind = _place(problem), problem["type"]
    if kind in NAMES:
        return f"`{place}` {NAMES[kind]}."
    own = problem["msg"].removeprefix("Value error, ")
    if kind == "value_error" and own.endswith("."):  # a sentence of a validator
        return f"`{place}`: {own}" if place else own
    if kind != "value_error":
        own = re.sub(r"^\w+ should", "must", DETAILS.sub("", own))
    if isinstance(problem["input"], str):
        own = own.replace("item", "character")
    return f"`{place}` {own}{_value(problem['input'])}."


def _place(problem: Any) -> str:
    return ".".join(str(part) for part in problem["loc"])[:LONGEST_NAME]


def _value(value: object) -> str:
    if isinstance(value, str):
        return f", not {value if len(value) <= SHOWN_LENGTH else value[:SHOWN_LENGTH] + '…'!r}"
    is_short = value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20)
    return f", not {json.dumps(value)}" if is_short else ""


@blueprint.before_request
def require_token() -> None:
    """Reject requests without a sufficient token, except requests for public operations."""
    called = OPERATIONS[cast(str, request.endpoint).removeprefix("api.")]
    if called.scope is None and "Authorization" not in request.headers:
        return
    if g.token is None:
        raise Unauthorized(www_authenticate=WWWAuthenticate("bearer"))
    api_tokens.require_scope(g.token, called.scope or Scope.READ)
    if g.token.competition_id is not None and not called.spans:
        _require_competition(g.token)


def _require_competition(token: ApiToken) -> None:
    """Raise Refusal if a token is used outside its competition."""
    named = request.view_args or {}
    if "slug" not in named and "submission_id" in named:
        with reading() as session:
            api_tokens.require_submission(session, token, submission_id=named["submission_id"])
    elif token.competition is None or named.get("slug") != token.competition.slug:
        raise other_competition(token)


def ending(part: Slice[Any]) -> dict[str, Any]:
    """Return the pagination fields of a list response."""
    arguments = request.args.to_dict() | (request.view_args or {}) | {"cursor": str(part.following)}
    url = None if part.following is None else url_for(cast(str, request.endpoint), **arguments)
    return {"page_size": part.size, "next": url}
