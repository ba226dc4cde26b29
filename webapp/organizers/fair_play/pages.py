"""Organizers' fair play pages: signs with evidence, shared logins."""

from typing import Any

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, OrganizerJob, Role
from grader.services.accounts.logins import PLACES_KEPT
from grader.services.fair_play import report, same_people
from grader.services.fair_play.report import Report
from grader.services.fair_play.same_people import MOST_NAMED_TEAMS, SamePeople
from grader.services.moderation import submission_search
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site
from webapp.organizers.closing.views import JobView, job_status
from webapp.organizers.fair_play.views import Lines, lines_of

blueprint = Blueprint("fair_play", __name__, url_prefix="/competitions/<slug>/organize/fair-play")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show the results of the last analysis."""
    return page(slug)


@blueprint.get("/status")
@organizers_only(Role.VIEWER)
def status(slug: str) -> ResponseReturnValue:
    """Return the state of the newest analysis as JSON."""
    with reading() as session:
        job = report.newest(session, competition=competition_of(session, slug))
    return job_status(job).make_conditional(request)


def found_lines(slug: str) -> tuple[OrganizerJob | None, OrganizerJob | None, Report | None, Lines | None]:
    """Return the newest job, the last successful job, its report, and the report's entries."""
    with reading() as session:
        competition = competition_of(session, slug)
        newest, last = report.newest(session, competition=competition), None
        last = report.last(session, competition=competition)
        if last is None:
            return newest, None, None, None
        job, found = last
        lines = lines_of(
            found,
            report.submissions(session, report=found),
            report.marks_by_line(session, competition=competition),
        )
    return newest, job, found, lines


def page(slug: str, *, problem: Any = None) -> str:
    """Render the entries of the last analysis, or the reason why an action was rejected."""
    newest, done, found, lines = found_lines(slug)
    with reading() as session:
        view = CompetitionView(competition_of(session, slug), db.now(session))
    return render_template(
        "fair_play/show.html",
        competition=view,
        job=JobView(newest) if newest else None,
        done=done,
        found=found,
        lines=lines,
        reason_max_length=report.REASON_MAX_LENGTH,
        problem=problem.message if problem else "",
        etag=job_status(newest).headers["ETag"],
    )


@blueprint.get("/same-people")
@organizers_only(Role.EDITOR)
def same(slug: str) -> ResponseReturnValue:
    """Show the logins and files that teams share."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = shared_by_teams(session, competition)
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "fair_play/same_people.html",
        competition=view,
        found=found,
        days=PLACES_KEPT.days,
        most_named=MOST_NAMED_TEAMS,
        is_noted=current_site().settings.note_shared_logins,
    )


def shared_by_teams(session: Any, competition: Competition) -> SamePeople:
    """Return the evidence of shared use, including the files that several teams submitted."""
    files = submission_search.equal_files(session, competition=competition)
    return same_people.find(
        session,
        competition=competition,
        same_files=[{each.team.id for each in file.senders} for file in files if not file.is_sample],
        now=db.now(session),
    )
