"""Kaggle protocol: method URLs of all client versions, tokens, requests, readable errors.

The versions 1.5 and 1.6 of the kaggle command can use any server (`KAGGLE_API_ENDPOINT`) and send the API
token as a password. They expect plain lists and require every field that they print.
"""

import logging
import shlex
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any

from flask import Blueprint, g, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from grader.errors import ErrorKind, Refusal
from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope
from webapp.http import errors
from webapp.http.api import json_object, validated
from webapp.http.context import OPEN_CALLS, reading
from webapp.http.fields import Number, Text
from webapp.http.site import current_site, site_link
from webapp.surface import Access, Ask, Surface

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
LARGEST_PAGE = 1000

blueprint = Blueprint("kaggle", __name__, url_prefix="/api/v1")
pages = Blueprint("kaggle_command", __name__, url_prefix="/competitions/<slug>/kaggle")
COMMAND = Surface(pages, tag="competitions", role=Access.USER)
AWAY = "The site cannot check your token at the moment. Try again in a few seconds."
log = logging.getLogger(__name__)


class Fields(BaseModel):
    """The fields of all requests. Other fields are ignored."""

    model_config = ConfigDict(alias_generator=to_camel)

    competition_name: Text = ""
    file_name: Text = ""
    page_name: Text = ""
    search: Text = ""
    group: Text = ""
    token: Text = ""
    blob_file_tokens: Text = ""
    submission_description: Text = ""
    sandbox: bool = False
    content_length: Number = 0
    ref: Number = 0
    submission_id: Number = 0
    team_id: Number = 0
    page: Number = 1
    page_size: Number = 0
    page_token: Number = 0

    @property
    def page_number(self) -> int:
        """The requested page; a page token is a page number."""
        return self.page_token or self.page or 1

    def size(self, usual: int) -> int:
        """Return the requested size of a page."""
        return min(self.page_size or usual, LARGEST_PAGE)


Handler = Callable[[Fields], ResponseReturnValue]
ReadHandler = Callable[[Any, Fields], ResponseReturnValue]
Convert = Callable[[Any], ResponseReturnValue]


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
                return handler(sent_fields())
            answered = handler(_old_fields(values))
            return as_before(answered) if as_before else answered

        rules = [f"POST /{COMPETITIONS}/{method}", *old]
        for number, (verb, _, path) in enumerate(rule.partition(" ") for rule in rules):
            endpoint = handler.__name__ if number == 0 else f"old_{handler.__name__}_{number}"
            blueprint.add_url_rule(path, endpoint=endpoint, view_func=view, methods=[verb])
        return handler

    return register


def read(method: str, **declared: Any) -> Callable[[ReadHandler], ReadHandler]:
    """Register a function of a session and the fields as the handler of a method, as `act` does."""

    def register(handler: ReadHandler) -> ReadHandler:
        @wraps(handler)
        def read_and_answer(sent: Fields) -> ResponseReturnValue:
            with reading() as session:
                return handler(session, sent)

        act(method, scope=Scope.READ, **declared)(read_and_answer)
        return handler

    return register


def sent_fields() -> Fields:
    """Return the fields of the body, which is a form or a JSON object."""
    return _fields(json_object() if request.is_json else request.form)


def _old_fields(values: Mapping[str, Any]) -> Fields:
    """Return the fields of an old request; old versions send the text None for a missing parameter."""
    asked = {name: text for name, text in request.args.items() if text != "None"}
    sent = {**asked, **request.form, **values}
    return _fields({OLD_NAMES.get(name, name): text for name, text in sent.items()})


def _fields(values: Mapping[str, Any]) -> Fields:
    return validated(Fields, {name: value for name, value in values.items() if value not in (None, "")})


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


def next_token(page: int, page_count: int) -> str:
    """Return the token of the next page, empty after the last."""
    return str(page + 1) if page < page_count else ""


@blueprint.post(f"/{OAUTH}/IntrospectToken")
def introspect_token() -> ResponseReturnValue:
    """Return whether a token is valid, and its owner.

    The command crashes if the status is 5xx, so all failures return status 400.
    """
    token = sent_fields().token
    try:
        with reading() as session:
            record = api_tokens.find(session, token=token)
    except Exception as error:
        log.error("Could not check a token of the kaggle command: %s", error)  # noqa: TRY400
        return errors.answer(400, name="service_unavailable", message=AWAY)
    if record is None:
        return {"active": False, "username": ""}
    return {"active": True, "username": record[0].user.name, "userId": record[0].user_id}


@blueprint.post("/<area>.<service>/<method>")
def other_method(area: str, service: str, method: str) -> ResponseReturnValue:
    """Reject calls of other methods, such as those for datasets, notebooks or forums."""
    message = f"{area.capitalize()} ({method}): Fairboard does not support this."
    return errors.answer(501, name="not_implemented", message=message)


@COMMAND.read("", None, endpoint="show", page="competitions/kaggle.html")
def kaggle_page(ask: Ask) -> dict[str, Any]:
    """Show how to use the official kaggle command with this competition."""
    site = site_link("competitions.index").rstrip("/")
    return {"site": site, "is_https": site.startswith("https:"), "username": shlex.quote(ask.user.name)}
