"""API: list competitions and read one."""

from grader import db
from grader.services.accounts.api_tokens import Scope
from webapp.competitions import answers
from webapp.competitions.answers import CompetitionDetails, CompetitionList
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.api import blueprint
from webapp.http.fields import Asked
from webapp.http.lists import following
from webapp.http.operations import operation
from webapp.http.site import current_site

TAG = "competitions"


@blueprint.get("/competitions")
@operation(Scope.READ, answers=CompetitionList, tag=TAG, spans=True)
def competition_list(query: Asked) -> CompetitionList:
    """List the competitions, the newest first."""
    with current_site().database.read() as session:
        now = db.now(session)
        found = lookups.listed_slice(session, after=query.after)
        lines = [answers.line(CompetitionView(competition, now)) for competition in found.rows]
    return CompetitionList(competitions=lines, next=following(found))


@blueprint.get("/competitions/<slug>")
@operation(Scope.READ, answers=CompetitionDetails, tag=TAG)
def competition(slug: str) -> CompetitionDetails:
    """Return one competition with its rules, limits and how it scores."""
    with current_site().database.read() as session:
        return answers.details(CompetitionView(lookups.competition_of(session, slug), db.now(session)))
