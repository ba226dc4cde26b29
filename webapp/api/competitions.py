"""The competitions."""

from flask.typing import ResponseReturnValue

from grader import db
from grader.services import competitions
from webapp.api.v1 import blueprint
from webapp.representations.competition import CompetitionView
from webapp.site import current_site


@blueprint.get("/competitions")
def competition_list() -> ResponseReturnValue:
    """Return all competitions, the newest first."""
    with current_site().database.read() as session:
        now = db.now(session)
        views = [CompetitionView(competition, now) for competition in competitions.list_all(session)]
    return {"competitions": [view.as_json() for view in views]}


@blueprint.get("/competitions/<slug>")
def competition(slug: str) -> ResponseReturnValue:
    """Return one competition with how it scores."""
    with current_site().database.read() as session:
        return CompetitionView(competitions.get(session, slug=slug), db.now(session)).as_json()
