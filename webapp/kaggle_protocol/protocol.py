"""Kaggle protocol: method URLs of all client versions, tokens, requests, readable errors.

The versions 1.5 and 1.6 of the kaggle command can use any server (`KAGGLE_API_ENDPOINT`) and send the API
token as a password. They expect plain lists and require every field that they print.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from flask import Blueprint, Flask, g, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import BadRequest as NotJson
from werkzeug.routing import BaseConverter

from grader.errors import ErrorKind, Refusal
from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope
from grader.text import is_storable
from webapp.http import errors
from webapp.http.context import OPEN_CALLS, reading
from webapp.http.parameters import LARGEST, NO, YES, Unreadable, UnreadableBody, whole_number
from webapp.http.site import current_site, site_link

COMPETITIONS = "competitions.CompetitionApiService"
OAUTH = "security.OAuthService"
# Kaggle's names of the parameters of old URLs.
OLD_NAMES = {
    "slug": "competitionName",
    "name": "fileName",
    "length": "contentLength",
    "pagesize": "pageSize",
}
LOCALHOST = "localhost"  # the host name sent by a command that uses this site as its proxy

blueprint = Blueprint("kaggle", __name__, url_prefix="/api/v1")

Handler = Callable[["SentFields"], ResponseReturnValue]
ReadHandler = Callable[[Any, "SentFields"], ResponseReturnValue]
Convert = Callable[[Any], ResponseReturnValue]
AWAY = "The site cannot check your token at the moment. Try again in a few seconds."
log = logging.getLogger(__name__)


class SentFields:
    """The fields of a request, from a form, a JSON object, or the caller."""

    def __init__(self, fields: Mapping[str, Any] | None = None) -> None:
        if fields is None:
            fields = _json_object() if request.is_json else request.form
        self._fields = fields

    def text(self, name: str) -> str:
        """Return a text, empty if absent; raise Unreadable."""
        value = self._fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or not is_storable(value):
            raise Unreadable(name, value, "text without NUL characters (U+0000) or lone surrogates")
        return value

    def number(self, name: str) -> int | None:
        """Return a whole number, or None if absent; raise Unreadable."""
        value = self._fields.get(name)
        if value is None or value == "":
            return None
        is_text_or_whole = isinstance(value, str | int) and not isinstance(value, bool)
        number = whole_number(_digits(value)) if is_text_or_whole else None
        if number is None:
            raise Unreadable(name, value, f"a whole number from 0 to {LARGEST:,}")
        return number

    def flag(self, name: str, *, default: bool) -> bool:
        """Return a boolean; raise Unreadable."""
        value = self._fields.get(name, default)
        if isinstance(value, bool):
            return value
        word = str(value).strip().lower() if isinstance(value, str | int) else "?"
        if word not in YES | NO:
            raise Unreadable(name, value, "true or false")
        return word in YES


class Service(BaseConverter):
    """The name of one of Kaggle's services, such as `datasets.DatasetApiService`."""

    regex = r"[a-z_]{1,40}(?:\.[A-Za-z_]{1,40}){1,4}"


def init_app(app: Flask) -> None:
    """Register the calls."""
    app.url_map.converters["kaggle_service"] = Service
    app.register_blueprint(blueprint)


@blueprint.before_request
def require_token() -> None:
    """Reject a call without a valid token."""
    if request.endpoint not in OPEN_CALLS and g.token is None:
        message = (
            "This request needs a valid API token for this site in the KAGGLE_API_TOKEN environment "
            "variable. You can create a token on your account page."
        )
        raise Refusal("token_needed", ErrorKind.FORBIDDEN, message)


def act(
    method: str, *, old: Sequence[str] = (), as_before: Convert | None = None, scope: Scope = Scope.SUBMIT
) -> Callable[[Handler], Handler]:
    """Register a function as the handler of a method, for tokens with this scope.

    `old` are the requests of old versions with the same meaning, such as `GET /competitions/list`, and
    `as_before` converts the response for them.
    """

    def register(handler: Handler) -> Handler:
        @wraps(handler)
        def view(**values: Any) -> ResponseReturnValue:
            api_tokens.require_scope(g.token, scope)
            if request.endpoint == f"kaggle.{handler.__name__}":
                return handler(SentFields())
            answered = handler(SentFields(_old_fields(values)))
            return as_before(answered) if as_before else answered

        rules = [f"POST /{COMPETITIONS}/{method}", *old]
        for number, (verb, _, path) in enumerate(rule.partition(" ") for rule in rules):
            endpoint = handler.__name__ if number == 0 else f"old_{handler.__name__}_{number}"
            blueprint.add_url_rule(path, endpoint=endpoint, view_func=view, methods=[verb])
        return handler

    return register


def read(method: str, **declared: Any) -> Callable[[ReadHandler], ReadHandler]:
    """Register a function of a session and the sent fields as the handler of a method, as `act` does."""

    def register(handler: ReadHandler) -> ReadHandler:
        @wraps(handler)
        def read_and_answer(sent: SentFields) -> ResponseReturnValue:
            with reading() as session:
                return handler(session, sent)

        act(method, scope=Scope.READ, **declared)(read_and_answer)
        return handler

    return register


def not_offered(what: str) -> ResponseReturnValue:
    """Return the response to a call of an unsupported feature."""
    return errors.answer(501, name="not_implemented", message=f"{what} Fairboard does not support this.")


def address(endpoint: str, **values: Any) -> str:
    """Return an absolute URL with the host that the command used."""
    scheme = "http" if request.host == LOCALHOST else request.scheme
    return f"{scheme}://{request.host}{url_for(endpoint, **values)}"


def page_address(endpoint: str, **values: Any) -> str:
    """Return the URL of a page for a browser, which does not use this site as its proxy."""
    settings = current_site().settings
    if request.host == LOCALHOST and not settings.base_url:
        return settings.site() + url_for(endpoint, **values)
    return site_link(endpoint, **values)


def time_text(moment: datetime | None) -> str | None:
    """Return a time in whole seconds of UTC, the only format that the command parses reliably."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if moment else None


def asked_paging(sent: SentFields, *, usual_size: int, most: int = 1000) -> tuple[int, int]:
    """Return the page and its size; a page token is a page number. Raises Unreadable."""
    token = sent.text("pageToken")
    page = whole_number(token) if token else sent.number("page")
    if token and page is None:
        raise Unreadable("pageToken", token, "a page token from this site")
    return page or 1, min(sent.number("pageSize") or usual_size, most)


def next_token(page: int, page_count: int) -> str:
    """Return the token of the next page, empty after the last."""
    return str(page + 1) if page < page_count else ""


@blueprint.post(f"/{OAUTH}/IntrospectToken")
def introspect_token() -> ResponseReturnValue:
    """Return whether a token is valid, and its owner.

    The command crashes if the status is 5xx, so all failures return status 400.
    """
    token = SentFields().text("token")
    try:
        with reading() as session:
            found = api_tokens.find(session, token=token)
    except Exception as error:
        log.error("Could not check a token of the kaggle command: %s", error)  # noqa: TRY400
        return errors.answer(400, name="service_unavailable", message=AWAY)
    if found is None:
        return {"active": False, "username": ""}
    return {"active": True, "username": found[0].user.name, "userId": found[0].user_id}


@blueprint.post("/<kaggle_service:service>/<method>")
def other_method(service: str, method: str) -> ResponseReturnValue:
    """Reject calls to other services, such as datasets, notebooks or forums."""
    what = f"{service.partition('.')[0].capitalize()} ({method}):"
    return not_offered(what)


def _old_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an old request; old versions send the text None for a missing parameter."""
    asked = {name: text for name, text in request.args.items() if text not in ("", "None")}
    return {OLD_NAMES.get(name, name): text for name, text in {**asked, **request.form, **values}.items()}


def _json_object() -> Mapping[str, Any]:
    sent: object = None
    # These errors mean invalid JSON, too deep nesting, and integers too long for Python to parse.
    with suppress(NotJson, RecursionError, ValueError):
        sent = request.get_json()
    if not isinstance(sent, Mapping):
        raise UnreadableBody
    return sent


def _digits(value: str | int) -> str:
    """Return a number as text, or an empty text if it is too large; Python limits the length of integers."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if 0 <= value <= LARGEST else ""
