"""Team page and invitation page."""

from typing import Any

from flask import Blueprint, g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import FairboardError
from grader.models import Competition
from grader.services.competitions import phases
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.leaderboards import team_results
from grader.services.teams import (
    invitations,
    memberships,
    rosters,
)
from webapp.competitions.views import CompetitionView
from webapp.http import auth
from webapp.http.context import competition_of, reading
from webapp.http.responses import conditional
from webapp.http.site import site_link

blueprint = Blueprint("teams", __name__, url_prefix="/competitions/<slug>")


@blueprint.get("/team")
@auth.login_required
def show(slug: str) -> ResponseReturnValue:
    """Show the user's team and its actions."""
    return page(slug)


@blueprint.get("/team/link/<token>")
def invitation(slug: str, token: str) -> ResponseReturnValue:
    """Show the team of an invitation link and the link's creator, even to visitors."""
    with reading() as session:
        now = db.now(session)
        competition = invited_to(session, slug)
        link = invitations.open_link(session, competition=competition, token=token, now=now)
        members = rosters.members(session, team=link.team)
        membership = g.user and memberships.of_person(session, competition=competition, user=g.user, now=now)
    return render_template(
        "teams/invitation.html",
        competition=CompetitionView(competition, now),
        link=link,
        team=link.team,
        members=members,
        membership=membership,
        is_full=len(members) >= competition.max_team_size,
    )


def invited_to(session: Any, slug: str) -> Competition:
    """Return the competition of a link; unknown ones and drafts look like expired links."""
    try:
        return competition_of(session, slug)
    except UnknownCompetition:
        raise invitations.unknown() from None


def page(slug: str, *, problem: FairboardError | None = None, link: str | None = None) -> str:
    """Render the Team page, with the error of a failed action, or with a new link."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        membership = memberships.of_person(session, competition=competition, user=g.user, now=now)
        own = membership.own
    return render_template(
        "teams/show.html",
        competition=CompetitionView(competition, now),
        membership=membership,
        own=own,
        link=link,
        problem=problem,
    )


@blueprint.get("/teams/<int:team_id>/certificate")
def certificate(slug: str, team_id: int) -> ResponseReturnValue:
    """Show the certificate of a team on the private leaderboard."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        phase = phases.phase(competition, now)
        award = team_results.award(session, competition=competition, team_id=team_id, phase=phase)
        view, revealed_at = CompetitionView(competition, now), competition.revealed_at
    link = site_link("leaderboards.private", slug=slug)
    page = {"competition": view, "award": award, "revealed_at": revealed_at, "link": link}
    return conditional(render_template("teams/certificate.html", **page))
