"""Organizers' fair play pages: signs with evidence, shared logins."""

from typing import Any

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from grader.services.accounts.logins import PLACES_KEPT
from grader.services.fair_play import report
from grader.services.fair_play.same_people import MOST_NAMED_TEAMS
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site
from webapp.organizers.closing.views import JobView, job_status
from webapp.organizers.fair_play import answers

blueprint = Blueprint("fair_play", __name__, url_prefix="/competitions/<slug>/organize/fair-play")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None) -> str:
    """Show the results of the last analysis, or the reason why an action was rejected."""
    with reading() as session:
        competition = competition_of(session, slug)
        newest = report.newest(session, competition=competition)
        found = answers.findings(session, competition, newest)
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "fair_play/show.html",
        competition=view,
        job=JobView(newest) if newest else None,
        found=found,
        reason_max_length=report.REASON_MAX_LENGTH,
        problem=problem.message if problem else "",
        etag=job_status(newest).headers["ETag"],
    )


@blueprint.get("/status")
@organizers_only(Role.VIEWER)
def status(slug: str) -> ResponseReturnValue:
    """Return the state of the newest analysis as JSON."""
    with reading() as session:
        job = report.newest(session, competition=competition_of(session, slug))
    return job_status(job).make_conditional(request)


@blueprint.get("/same-people")
@organizers_only(Role.EDITOR)
def same(slug: str) -> ResponseReturnValue:
    """Show the addresses and browsers that a few teams share."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        found = answers.connections(session, competition, is_noted=current_site().settings.note_shared_logins)
    return render_template(
        "fair_play/same_people.html",
        competition=view,
        found=found,
        days=PLACES_KEPT.days,
        most_named=MOST_NAMED_TEAMS,
    )
