"""Webhooks of a person's team."""

from flask import Blueprint
from flask.typing import ResponseReturnValue

from webapp.http import auth
from webapp.webhooks import acts
from webapp.webhooks.acts import Place

blueprint = Blueprint("team_webhooks", __name__, url_prefix="/competitions/<slug>/team/webhooks")
PLACE = Place("team_webhooks", "competitions/base.html", is_of_team=True)


@blueprint.get("")
@auth.login_required
def index(slug: str) -> ResponseReturnValue:
    """Show the team's webhooks."""
    return acts.show_list(PLACE, slug)


@blueprint.post("")
@auth.login_required
def create(slug: str) -> ResponseReturnValue:
    """Add a webhook."""
    return acts.create(PLACE, slug)


@blueprint.get("/<int:webhook_id>")
@auth.login_required
def show(slug: str, webhook_id: int) -> ResponseReturnValue:
    """Show a webhook and its log."""
    return acts.show_one(PLACE, slug, webhook_id)


@blueprint.post("/<int:webhook_id>/<any(change, rotate, test, redeliver, on, off, delete):verb>")
@auth.login_required
def act(slug: str, webhook_id: int, verb: str) -> ResponseReturnValue:
    """Change, test, switch or delete a webhook, send an event again, or make a new secret."""
    return acts.act(PLACE, slug, webhook_id, verb)
