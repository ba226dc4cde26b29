"""The blueprint of version 1: bearer tokens only, except for the boards, which anybody may read."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flask import Blueprint, request

from webapp import auth

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")
OPEN_ENDPOINTS = frozenset({"api.leaderboard", "api.counted", "api.final_standings"})


@blueprint.before_request
def require_token() -> None:
    """Refuse a request without a valid token; a board also answers one that brings none at all."""
    if request.endpoint not in OPEN_ENDPOINTS or "Authorization" in request.headers:
        auth.require_token()


def sent_fields() -> Mapping[str, Any]:
    """Return the fields of a request, which come as a form or as a JSON object."""
    if not request.is_json:
        return request.form
    sent: object = None
    with suppress(RecursionError):  # brackets without end
        sent = request.get_json(silent=True)
    return sent if isinstance(sent, Mapping) else {}
