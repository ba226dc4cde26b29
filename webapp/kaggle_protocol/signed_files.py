"""Signed download URLs for the kaggle command, which follows redirects without its token.

A URL is bound to the API token, its owner, the competition, the file and its version. It expires with the
token, at the latest after 12 hours. Access rights are checked again when the file is sent.
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
from grader.services.identity import api_tokens
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import address, blueprint

VALID = timedelta(hours=12)
SALT = "kaggle download"

# A function that finds a file by name and version for the current user, and returns a function that sends it.
Sender = Callable[[Any, Competition, str, str], Callable[[], Response]]
SENDERS: dict[str, Sender] = {}


class LinkExpired(ParticipantError):
    """An expired or invalid download URL, or one for an earlier version of the file."""

    public_name = "link_expired"
    kind = ErrorKind.GONE
    message = (
        "This download link or its API token has expired, or the file has changed. Start the download again."
    )


def sender(kind: str) -> Callable[[Sender], Sender]:
    """Register a function that sends the files of a kind."""

    def register(send: Sender) -> Sender:
        SENDERS[kind] = send
        return send

    return register


def offer(kind: str, competition: Competition, name: str, *, version: str = "") -> ResponseReturnValue:
    """Return a redirect to a file's signed URL, which ends with the name of the saved file."""
    key = _serializer().dumps([kind, g.token.id, g.user.id, competition.slug, name, version])
    return redirect(address("kaggle.signed_file", name=name, key=key), 302)


@blueprint.get("/downloads/<name>")
def signed_file(name: str) -> ResponseReturnValue:
    """Send a file for its signed URL if the user who requested the URL may still download it."""
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
