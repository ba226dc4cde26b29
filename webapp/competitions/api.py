"""API: list competitions and read one."""

from flask import url_for
from flask.typing import ResponseReturnValue

from grader import db
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.api import blueprint
from webapp.http.parameters import asked_page
from webapp.http.site import current_site


@blueprint.get("/competitions")
def competition_list() -> ResponseReturnValue:
    """Return a page of the competitions, the newest first."""
    number = asked_page()
    with current_site().database.read() as session:
        now = db.now(session)
        page = lookups.listed_page(session, page=number)
        views = [CompetitionView(competition, now) for competition in page.rows]
    following = url_for("api.competition_list", page=page.page + 1) if page.page < page.page_count else None
    return {"competitions": [view.as_json() for view in views], "next": following}


@blueprint.get("/competitions/<slug>")
def competition(slug: str) -> ResponseReturnValue:
    """Return one competition with its rules, limits and how it scores."""
    with current_site().database.read() as session:
        return CompetitionView(lookups.competition_of(session, slug), db.now(session)).details_json()
