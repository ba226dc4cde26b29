"""Whose a token is, asked before every command; and methods of Kaggle's that this site does not have."""

import logging

from flask.typing import ResponseReturnValue

from grader import db
from grader.services.accounts import api_tokens
from webapp.http import errors
from webapp.http.parameters import SentFields
from webapp.http.site import current_site
from webapp.kaggle_protocol.protocol import OAUTH, blueprint, not_offered

AWAY = "The site cannot check your token at the moment. Please try again in a few seconds."

log = logging.getLogger(__name__)


@blueprint.post(f"/{OAUTH}/IntrospectToken")
def introspect_token() -> ResponseReturnValue:
    """Return whether a token is valid, and whose it is.

    The command breaks on an error 5xx here: whatever goes wrong is an error 400.
    """
    token = SentFields().text("token")
    site = current_site()
    try:
        with site.database.read() as session:
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
