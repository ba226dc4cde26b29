"""JSON API framework: operations, scopes, request and response models, token checks.

A view is decorated with `operation`. Its parameters `json` and `query` are annotated with the pydantic models
that validate the request. It returns its response model, optionally followed by a status other than 200 and
by headers.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import Any, cast

from flask import Blueprint, Response, current_app, g, make_response, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ValidationError
from spectree import Response as Answers
from spectree import SpecTree
from spectree.plugins.flask_plugin import FlaskPlugin
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import BadRequest as NotJson
from werkzeug.exceptions import Unauthorized

from grader.errors import ErrorKind
from grader.models import ApiToken
from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope, other_competition
from grader.services.site.paging import Slice
from webapp.http.context import reading
from webapp.http.errors import BadRequest
from webapp.http.fields import ErrorAnswer, FileForm, is_list
from webapp.http.parameters import UnreadableBody
from webapp.http.responses import conditional

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")
KEY_HEADER = "Idempotency-Key"
SHOWN_LENGTH = 40  # characters
LONGEST_NAME, MOST_LISTED = 200, 30  # characters of a field's name, problems of a request
PLAIN_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not a field of this request",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "string_type": "must be text",
    "date_from_datetime_parsing": "must be a date such as 2030-01-31",
    "datetime_from_date_parsing": "must be a time such as 2030-01-31T12:00:00Z",
}


class UnreadableFields(BadRequest):
    """A request with fields that the operation does not accept. The error lists the first of them."""

    public_name = "unreadable"

    def __init__(self, error: ValidationError) -> None:
        self._problems: list[dict[str, Any]] = [
            {"message": _sentence(problem), "fields": [_place(problem)] if problem["loc"] else []}
            for problem in error.errors(include_url=False)[:MOST_LISTED]
        ]
        more = error.error_count() - len(self._problems)
        listed = " ".join(problem["message"] for problem in self._problems)
        super().__init__(f"{listed} There are {more:,} more problems." if more else listed)

    @property
    def details(self) -> Mapping[str, Any]:
        """The problems, each with its field."""
        return {"problems": self._problems}


class NotJsonType(BadRequest):
    """A body whose content type is not JSON."""

    public_name = "not_json"
    kind = ErrorKind.INVALID
    message = "Send the body as JSON, with the header `Content-Type: application/json`."


@dataclass(frozen=True, slots=True)
class Operation:
    """Requirements of an API route, in addition to its models.

    If `scope` is None, no token is required. An operation with `keeps_key` accepts an Idempotency-Key. With
    `spans`, tokens bound to one competition are accepted although the URL contains none.
    `takes` is the body of a declared action, `takes_file` the form of an upload, and `answers_file` the media
    type of a file response. With `checks_version`, `If-Match` is compared.
    """

    scope: Scope | None
    keeps_key: bool = False
    spans: bool = False
    takes: type[BaseModel] | None = None
    takes_file: type[FileForm] | None = None
    answers_file: str | None = None
    checks_version: bool = False
    answers: type[BaseModel] | None = None


class _Plugin(FlaskPlugin):
    """Validate requests strictly, and serialize response models without validating them again."""

    def request_validation(self, request: Any, query: Any, json: Any, *others: Any) -> None:
        # The library ignores the bodies of DELETE requests, so bodies are validated here.
        super().request_validation(request, query, None, *others)  # type: ignore[no-untyped-call]
        if json is None:
            return
        if request.mimetype in FlaskPlugin.FORM_MIMETYPE:  # sent by `curl --data name=value`
            if any(name.lstrip().startswith(("{", "[")) for name in request.form):
                raise NotJsonType  # `curl --data '{…}'` sends JSON with a form's content type
            lists = {name for name, each in json.model_fields.items() if is_list(each.annotation)}
            fields = {name: values if name in lists else values[-1] for name, values in request.form.lists()}
        else:
            if request.content_length or request.mimetype:
                _require_object()
            fields = request.get_json(silent=True) or {}
        sent = self.model_adapter.validate_obj(json, fields)
        request.context = request.context._replace(json=sent)

    def validate_response(self, resp: Any, *_: Any) -> tuple[Response, None]:
        answer, status, headers = _parts(resp)
        if isinstance(answer, BaseModel):  # already validated by its own class
            answer = current_app.response_class(
                answer.model_dump_json(exclude_unset=True) + "\n", mimetype="application/json"
            )
        return make_response(answer, status, headers), None


def _refuse_unreadable(_request: Any, _answer: Any, error: Any, *_: Any) -> None:
    if error is not None:
        raise UnreadableFields(error) from None


def _name(model: type[BaseModel]) -> str:
    return model.model_config.get("title") or model.__name__


class _Spec(SpecTree):
    """A SpecTree that generates schemas only with the document.

    Generating them earlier would take a third of the startup time.
    """

    def __init__(self, **options: Any) -> None:
        self._described: dict[str, tuple[type[BaseModel], Any]] = {}
        super().__init__(**options)

    def _add_model(self, model: type[BaseModel], mode: Any = "validation") -> str:
        name = self.naming_strategy(model)
        self._described[name] = (model, mode)
        return name

    def document(self, forms: Iterable[type[FileForm]]) -> dict[str, Any]:
        """Return the OpenAPI document of all operations and of the forms."""
        self.models = {}
        for model, mode in [*self._described.values(), *((form, "validation") for form in forms)]:
            super()._add_model(model, mode)
        return self._generate_spec()


SPEC = _Spec(
    validation_error_model=ErrorAnswer,
    backend=_Plugin,
    before=_refuse_unreadable,
    after=lambda *_: None,
    mode="strict",
    title="Fairboard API",
    naming_strategy=_name,
    nested_naming_strategy=lambda _parent, child: child,
)
OPERATIONS: dict[str, Operation] = {}
"""Operations by view name, which is the endpoint without `api.`."""


def operation(
    scope: Scope | None,
    *,
    answers: type[BaseModel] | None = None,
    status: int = 200,
    tag: str,
    keeps_key: bool = False,
    spans: bool = False,
    takes: type[BaseModel] | None = None,
    takes_file: type[FileForm] | None = None,
    answers_file: str | None = None,
    checks_version: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., ResponseReturnValue]]:
    """Register a view as an operation whose models validate its requests and describe it."""

    def decorate(view: Callable[..., Any]) -> Callable[..., ResponseReturnValue]:
        known = Operation(
            scope=scope,
            keeps_key=keeps_key,
            spans=spans,
            takes=takes,
            takes_file=takes_file,
            answers_file=answers_file,
            checks_version=checks_version,
            answers=answers,
        )
        OPERATIONS[view.__name__] = known
        described = Answers(**{f"HTTP_{status}": answers})
        checked = SPEC.validate(json=takes, resp=described, tags=(tag,), operation_id=view.__name__)(view)

        @wraps(checked)
        def answered(*args: Any, **kwargs: Any) -> ResponseReturnValue:
            answer: Response = checked(*args, **kwargs)
            is_plain = answers is not None and request.method == "GET" and not answer.get_etag()[0]
            if not is_plain:
                return answer
            told = conditional(answer)
            # The response is personal: clients may keep the ETag, but caches may not store the response.
            if scope is not None:
                told.headers["Cache-Control"] = "no-store"
            return told

        return answered

    return decorate


def current() -> Operation:
    """Return the operation of the current request."""
    return OPERATIONS[cast(str, request.endpoint).removeprefix("api.")]


def _require_object() -> None:
    """Raise an error for a body that is not an object; pydantic would treat it as empty."""
    if not request.is_json:
        raise NotJsonType
    sent: object = None
    # These errors mean invalid JSON, too deep nesting, and integers too long for Python to parse.
    with suppress(NotJson, RecursionError, ValueError):
        sent = request.get_json()
    if not isinstance(sent, dict):
        raise UnreadableBody


def _parts(answer: Any) -> tuple[Any, int, Any]:
    if not isinstance(answer, tuple):
        return answer, getattr(answer, "status_code", 200), {}
    body, status, *headers = answer
    return body, status, headers[0] if headers else {}


def _sentence(problem: Any) -> str:
    """Return the problem of a field, such as `` `count` must be a whole number, not 'two'. ``"""
    place = _place(problem)
    words = PLAIN_WORDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ").rstrip(".")
    found = "" if problem["type"] in ("missing", "extra_forbidden") else _found(problem["input"])
    return f"`{place}` {words[0].lower()}{words[1:]}{found}." if place else f"{words}{found}."


def _place(problem: Any) -> str:
    return ".".join(str(part) for part in problem["loc"])[:LONGEST_NAME]


def _found(value: object) -> str:
    if isinstance(value, str):
        return f", not {value if len(value) <= SHOWN_LENGTH else value[:SHOWN_LENGTH] + '…'!r}"
    is_short = value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < 10**20)
    return f", not {json.dumps(value)}" if is_short else ""


@blueprint.before_request
def require_token() -> None:
    """Reject requests without a sufficient token, except requests for public operations."""
    called = current()
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


def ending(found: Slice[Any]) -> dict[str, Any]:
    """Return the pagination fields of a list response."""
    return {"page_size": found.size, "next": _following(found)}


def _following(found: Slice[Any]) -> str | None:
    """Return the URL of the next part of the requested list, or None at the end."""
    if found.following is None:
        return None
    asked = request.args.to_dict() | (request.view_args or {}) | {"cursor": str(found.following)}
    return url_for(cast(str, request.endpoint), **asked)
