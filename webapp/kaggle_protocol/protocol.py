"""Kaggle protocol: one address per method, token, JSON in both directions, readable errors."""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from flask import Blueprint, Flask, g, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import BadRequest as NotJson
from werkzeug.routing import BaseConverter

from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.services.accounts import api_tokens
from grader.services.accounts.api_tokens import Scope
from grader.text import is_storable, utc
from webapp.http import errors
from webapp.http.context import OPEN_CALLS, reading
from webapp.http.parameters import LARGEST, NO, YES, Unreadable, UnreadableBody, whole_number
from webapp.http.site import current_site, site_link

COMPETITIONS = "competitions.CompetitionApiService"
BLOBS = "blobs.BlobApiService"
OAUTH = "security.OAuthService"
LOCALHOST = "localhost"  # as the command says that takes this site for its proxy

blueprint = Blueprint("kaggle", __name__, url_prefix="/api/v1")

Handler = Callable[["SentFields"], ResponseReturnValue]
AWAY = "The site cannot check your token at the moment. Please try again in a few seconds."
log = logging.getLogger(__name__)


class TokenNeeded(ParticipantError):
    """A call without a valid API token; the kaggle command hides what an error 401 says."""

    public_name = "token_needed"
    kind = ErrorKind.FORBIDDEN
    message = (
        "This needs a valid API token of this site, in the variable KAGGLE_API_TOKEN. "
        "You can create one on your account page."
    )


class SentFields:
    """The fields of a request to the API, which come as a form or as a JSON object, or are given."""

    def __init__(self, fields: Mapping[str, Any] | None = None) -> None:
        if fields is None:
            fields = _json_object() if request.is_json else request.form
        self._fields = fields

    def text(self, name: str) -> str:
        """Return a text, empty where there is none; raise Unreadable."""
        value = self._fields.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or not is_storable(value):
            raise Unreadable(name, value, "a text without NUL (U+0000) and lone surrogates")
        return value

    def number(self, name: str) -> int | None:
        """Return a whole number, None where there is none; raise Unreadable."""
        value = self._fields.get(name)
        if value is None or value == "":
            return None
        is_text_or_whole = isinstance(value, str | int) and not isinstance(value, bool)
        number = whole_number(_digits(value)) if is_text_or_whole else None
        if number is None:
            raise Unreadable(name, value, f"a whole number from 0 to {LARGEST:,}")
        return number

    def flag(self, name: str, *, default: bool) -> bool:
        """Return yes or no; raise Unreadable."""
        value = self._fields.get(name, default)
        if isinstance(value, bool):
            return value
        word = str(value).strip().lower() if isinstance(value, str | int) else "?"
        if word not in YES | NO:
            raise Unreadable(name, value, "true or false")
        return word in YES

    def within(self, name: str) -> "SentFields":
        """Return the fields of an object among the fields, empty where there is none; raise Unreadable."""
        value = self._fields.get(name) or {}
        if not isinstance(value, Mapping):
            raise Unreadable(name, value, "an object")
        return SentFields(value)

    def each_of(self, name: str) -> list["SentFields"]:
        """Return the objects of a list, none where there is no list; raise Unreadable."""
        value = self._fields.get(name) or []
        if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
            raise Unreadable(name, value, "a list of objects")
        return [SentFields(each) for each in value]

    def value(self, name: str) -> Any:
        """Return whatever is there, None where nothing is."""
        return self._fields.get(name)


class Service(BaseConverter):
    """The name of one of Kaggle's services, such as `datasets.DatasetApiService`."""

    regex = r"[a-z_]{1,40}(?:\.[A-Za-z_]{1,40}){1,4}"


def init_app(app: Flask) -> None:
    """Register the calls."""
    app.url_map.converters["kaggle_service"] = Service
    app.register_blueprint(blueprint)


@blueprint.before_request
def require_token() -> None:
    """Refuse a call without a valid token."""
    if request.endpoint not in OPEN_CALLS and g.token is None:
        raise TokenNeeded


def require_scope(scope: Scope) -> None:
    """Raise ScopeMissing if the token of this call was not made for this."""
    api_tokens.require_scope(g.token, scope)


def call(service: str, method: str, scope: Scope = Scope.READ) -> Callable[[Handler], Handler]:
    """Let a function answer a method of a service, for tokens with this scope."""

    def register(handler: Handler) -> Handler:
        @wraps(handler)
        def view() -> ResponseReturnValue:
            require_scope(scope)
            return handler(SentFields())

        address = f"/{service}/{method}"
        blueprint.add_url_rule(address, endpoint=handler.__name__, view_func=view, methods=["POST"])
        return handler

    return register


def not_offered(what: str) -> ResponseReturnValue:
    """Return the answer to a call for something that this site does not have."""
    return errors.answer(501, name="not_implemented", message=f"{what} Fairboard does not have this.")


def address(endpoint: str, **values: Any) -> str:
    """Return an absolute address on the host that the command asked."""
    scheme = "http" if request.host == LOCALHOST else request.scheme
    return f"{scheme}://{request.host}{url_for(endpoint, **values)}"


def page_address(endpoint: str, **values: Any) -> str:
    """Return the address of a page for a browser, which does not take this site for its proxy."""
    settings = current_site().settings
    if request.host == LOCALHOST and not settings.base_url:
        return settings.site() + url_for(endpoint, **values)
    return site_link(endpoint, **values)


def time_text(moment: datetime | None) -> str | None:
    """Return a time in whole seconds of UTC, which is all that the command reads without a fault."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if moment else None


def asked_time(sent: SentFields, name: str) -> datetime | None:
    """Return a time, None where there is none; the command can write `…00.000+00:00Z`. Raises Unreadable."""
    text = sent.text(name)
    if not text:
        return None
    plain = text.removesuffix("Z") if "+" in text[10:] or "-" in text[10:] else text
    try:
        return utc(datetime.fromisoformat(plain))
    except ValueError:
        raise Unreadable(name, text, "a date and time, such as 2030-01-01T00:00:00Z") from None


def asked_paging(sent: SentFields, *, usual_size: int, most: int = 1000) -> tuple[int, int]:
    """Return the page and its size; a page token is the number of a page. Raises Unreadable."""
    token = sent.text("pageToken")
    page = whole_number(token) if token else sent.number("page")
    if token and page is None:
        raise Unreadable("pageToken", token, "a page token of this site")
    return page or 1, min(sent.number("pageSize") or usual_size, most)


def next_token(page: int, page_count: int) -> str:
    """Return the token of the page after this one, empty after the last."""
    return str(page + 1) if page < page_count else ""


@blueprint.post(f"/{OAUTH}/IntrospectToken")
def introspect_token() -> ResponseReturnValue:
    """Return whether a token is valid, and whose it is.

    The command breaks on an error 5xx here: whatever goes wrong is an error 400.
    """
    token = SentFields().text("token")
    try:
        with reading() as session:
            found = api_tokens.find(session, token=token, now=db.now(session))
    except Exception as error:
        log.error("Could not check a token of the kaggle command: %s", error)  # noqa: TRY400
        return errors.answer(400, name="service_unavailable", message=AWAY)
    if found is None:
        return {"active": False, "username": ""}
    return {"active": True, "username": found.user.name, "userId": found.user_id}


@blueprint.post("/<kaggle_service:service>/<method>")
def other_method(service: str, method: str) -> ResponseReturnValue:
    """Say of datasets, notebooks, forums and so on that they are not here."""
    what = f"{service.partition('.')[0].capitalize()} ({method}):"
    return not_offered(what)


def _json_object() -> Mapping[str, Any]:
    sent: object = None
    # Not JSON, brackets without end, numbers of more digits than Python reads.
    with suppress(NotJson, RecursionError, ValueError):
        sent = request.get_json()
    if not isinstance(sent, Mapping):
        raise UnreadableBody
    return sent


def _digits(value: str | int) -> str:
    """Return a number as text; one that is too large is not written out, which Python refuses."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if 0 <= value <= LARGEST else ""
