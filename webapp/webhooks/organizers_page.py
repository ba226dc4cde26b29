"""Webhooks of a competition's organizers."""

from flask import Blueprint
from flask.typing import ResponseReturnValue

from grader.models import Role
from webapp.http.auth import organizers_only
from webapp.webhooks import acts
from webapp.webhooks.acts import Place

blueprint = Blueprint("organize_webhooks", __name__, url_prefix="/competitions/<slug>/organize/webhooks")
PLACE = Place("organize_webhooks", "organizer_base.html", is_of_team=False)


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show the organizers' webhooks."""
    return acts.show_list(PLACE, slug)


@blueprint.post("")
@organizers_only(Role.EDITOR)
def create(slug: str) -> ResponseReturnValue:
    """Add a webhook."""
    return acts.create(PLACE, slug)


@blueprint.get("/<int:webhook_id>")
@organizers_only(Role.VIEWER)
def show(slug: str, webhook_id: int) -> ResponseReturnValue:
    """Show a webhook and its log."""
    return acts.show_one(PLACE, slug, webhook_id)


@blueprint.post("/<int:webhook_id>/<any(change, rotate, test, redeliver, on, off, delete):verb>")
@organizers_only(Role.EDITOR)
def act(slug: str, webhook_id: int, verb: str) -> ResponseReturnValue:
    """Change, test, switch or delete a webhook, send an event again, or make a new secret."""
    return acts.act(PLACE, slug, webhook_id, verb)
