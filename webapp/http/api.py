"""API: who may call an operation, by the scopes and the competition of their token."""

from flask import Blueprint, g, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import Unauthorized

from grader.models import ApiToken
from grader.services.accounts import api_tokens
from grader.services.accounts.api_tokens import OtherCompetition, Scope
from webapp.http import operations
from webapp.http.context import reading
from webapp.http.site import current_site

blueprint = Blueprint("api", __name__, url_prefix="/api/v1")


@blueprint.before_request
def require_token() -> None:
    """Refuse a request without a token that may do this; what is open answers requests without any too."""
    operation = operations.current()
    if current_site().shell is not None:
        return  # asked in this process, by the operator
    if operation.scope is None and "Authorization" not in request.headers:
        return
    if g.token is None:
        raise Unauthorized(www_authenticate=WWWAuthenticate("bearer"))
    api_tokens.require_scope(g.token, operation.scope or Scope.READ)
    if g.token.competition_id is not None and not operation.spans:
        _require_competition(g.token)


def _require_competition(token: ApiToken) -> None:
    """Raise OtherCompetition where a token is used outside the competition that it is bound to."""
    named = request.view_args or {}
    if "slug" not in named and "submission_id" in named:
        with reading() as session:
            api_tokens.require_submission(session, token, submission_id=named["submission_id"])
    elif token.competition is None or named.get("slug") != token.competition.slug:
        raise OtherCompetition(token)
