"""Organizers' page of what teams share: addresses, browsers, files, people who moved; it accuses nobody."""

from typing import Any

from flask import render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Role
from grader.services.accounts.login_addresses import KEPT
from grader.services.fair_play import same_people
from grader.services.fair_play.same_people import MOST_NAMED_TEAMS, SamePeople
from grader.services.moderation import submission_search
from webapp.competitions.views import CompetitionView
from webapp.http.context import competition_of, reading
from webapp.http.organizer_access import organizers_only
from webapp.http.site import current_site
from webapp.organizers.fair_play.pages import blueprint


@blueprint.get("/same-people")
@organizers_only(Role.EDITOR)
def same(slug: str) -> ResponseReturnValue:
    """Show what teams share."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = shared_by_teams(session, competition)
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "fair_play/same_people.html",
        competition=view,
        found=found,
        days=KEPT.days,
        most_named=MOST_NAMED_TEAMS,
        is_noted=current_site().settings.note_shared_logins,
    )


def shared_by_teams(session: Any, competition: Competition) -> SamePeople:
    """Return what teams share, with the files that several of them sent."""
    files = submission_search.equal_files(session, competition=competition)
    return same_people.find(
        session,
        competition=competition,
        same_files=[{each.team.id for each in file.senders} for file in files if not file.is_sample],
        now=db.now(session),
    )
