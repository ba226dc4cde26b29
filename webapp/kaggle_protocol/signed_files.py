"""Signed addresses of downloads: the kaggle command follows one without its token.

An address is bound to the API token, its person, the competition, the file and its version. It ends with the
token, and after 12 hours. What the token and the person may have is looked up again when the file is sent.
"""

import hashlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from flask import Response, g, redirect, request
from flask.typing import ResponseReturnValue
from itsdangerous import BadSignature, URLSafeTimedSerializer

from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition
from grader.services.accounts import api_tokens
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import address, blueprint

VALID = timedelta(hours=12)
SALT = "kaggle download"

# Looks up what the competition has under a name, in a version, for the current user; sends it afterwards.
Sender = Callable[[Any, Competition, str, str], Callable[[], Response]]
SENDERS: dict[str, Sender] = {}


class LinkExpired(ParticipantError):
    """An address that was not signed by this site, has ended, or is of an earlier version of the file."""

    public_name = "link_expired"
    kind = ErrorKind.GONE
    message = (
        "This address of a download has expired, its API token has ended, or the file has changed. Start "
        "the download again."
    )


def sender(kind: str) -> Callable[[Sender], Sender]:
    """Let a function send the files of a kind."""

    def register(send: Sender) -> Sender:
        SENDERS[kind] = send
        return send

    return register


def offer(kind: str, competition: Competition, name: str, *, version: str = "") -> ResponseReturnValue:
    """Return a redirect to the address of a file, whose last part is its name on the person's disk."""
    key = _serializer().dumps([kind, g.token.id, g.user.id, competition.slug, name, version])
    return redirect(address("kaggle.signed_file", name=name, key=key), 302)


@blueprint.get("/downloads/<name>")
def signed_file(name: str) -> ResponseReturnValue:
    """Send a file to whoever has its address, as the person may have it for whom it was made."""
    try:
        kind, token_id, user_id, slug, signed_name, version = _serializer().loads(
            request.args.get("key", ""), max_age=int(VALID.total_seconds())
        )
    except (BadSignature, ValueError) as error:
        raise LinkExpired from error
    if signed_name != name:
        raise LinkExpired
    with reading() as session:
        g.token = api_tokens.get(session, token_id=token_id, now=db.now(session))
        if g.token is None or g.token.user_id != user_id:
            raise LinkExpired
        g.user = g.token.user
        send = SENDERS[kind](session, competition_of(session, slug), name, version)
    return send()


def _serializer() -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        current_site().settings.secret(), salt=SALT, signer_kwargs={"digest_method": hashlib.sha256}
    )
