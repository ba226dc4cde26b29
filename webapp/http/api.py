"""API: require a bearer token, except for the leaderboards."""

from flask import Blueprint, request

from webapp.http import auth

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")
OPEN_ENDPOINTS = frozenset({"api.leaderboard", "api.counted", "api.final_standings"})


@blueprint.before_request
def require_token() -> None:
    """Refuse a request without a valid token; leaderboards also answer requests without any token."""
    if request.endpoint not in OPEN_ENDPOINTS or "Authorization" in request.headers:
        auth.require_token()
