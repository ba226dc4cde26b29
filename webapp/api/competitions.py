"""The competitions."""

from flask.typing import ResponseReturnValue

from grader import db
from webapp import finding
from webapp.api.v1 import blueprint
from webapp.representations.competition import CompetitionView
from webapp.site import current_site


@blueprint.get("/competitions")
def competition_list() -> ResponseReturnValue:
    """Return all competitions, the newest first."""
    with current_site().database.read() as session:
        now = db.now(session)
        views = [CompetitionView(competition, now) for competition in finding.listed(session)]
    return {"competitions": [view.as_json() for view in views]}


@blueprint.get("/competitions/<slug>")
def competition(slug: str) -> ResponseReturnValue:
    """Return one competition with its rules, limits and how it scores."""
    with current_site().database.read() as session:
        return CompetitionView(finding.competition_of(session, slug), db.now(session)).details_json()
