"""Organizers' pages of fair play: signs with their evidence, and what teams share."""

from typing import Any

from flask import Blueprint, Response, flash, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, OrganizerJob, Role
from grader.services.accounts.logins import PLACES_KEPT
from grader.services.fair_play import report, same_people
from grader.services.fair_play.report import Report
from grader.services.fair_play.same_people import MOST_NAMED_TEAMS, SamePeople
from grader.services.jobs import organizer_jobs
from grader.services.moderation import submission_search
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import status_of
from webapp.http.site import current_site
from webapp.organizers.closing.views import JobView
from webapp.organizers.fair_play.views import Lines, lines_of

blueprint = Blueprint("fair_play", __name__, url_prefix="/competitions/<slug>/organize/fair-play")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show what may be worth a look."""
    return _page(slug)


@blueprint.post("")
@organizers_only(Role.EDITOR)
def look(slug: str) -> ResponseReturnValue:
    """Have the submissions looked through now."""
    with writing() as session:
        competition = competition_of(session, slug)
        report.request(session, competition=competition, actor=actor(), now=db.now(session))
    flash("The submissions are being looked at.")
    return redirect(url_for(".index", slug=slug), 303)


@blueprint.post("/marks")
@organizers_only(Role.EDITOR)
def mark(slug: str) -> ResponseReturnValue:
    """Mark a line as looked at, with the reason."""
    try:
        with writing() as session:
            report.mark(
                session,
                competition=competition_of(session, slug),
                line=request.form.get("line", ""),
                reason=request.form.get("reason", ""),
                actor=actor(),
            )
    except (report.ReasonNeeded, report.UnknownLine) as error:
        return _page(slug, problem=error.message), status_of(error)
    flash("Marked as looked at.")
    return redirect(url_for(".index", slug=slug), 303)


@blueprint.get("/status")
@organizers_only(Role.VIEWER)
def status(slug: str) -> ResponseReturnValue:
    """Return the state of the newest look as JSON."""
    with reading() as session:
        job = report.newest(session, competition=competition_of(session, slug))
    return _status(job).make_conditional(request)


def found_lines(slug: str) -> tuple[OrganizerJob | None, OrganizerJob | None, Report | None, Lines | None]:
    """Return the newest job, the last that ended well, what it found, and its lines."""
    with reading() as session:
        competition = competition_of(session, slug)
        newest, last = report.newest(session, competition=competition), None
        last = report.last(session, competition=competition)
        if last is None:
            return newest, None, None, None
        job, found = last
        lines = lines_of(
            found,
            report.submissions(session, found=found),
            report.marks_by_line(session, competition=competition),
        )
    return newest, job, found, lines


def _page(slug: str, *, problem: str = "") -> str:
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
        problem=problem,
        etag=_status(newest).headers["ETag"],
    )


def _status(job: OrganizerJob | None) -> Response:
    answer = jsonify(
        {
            "is_final": job is None or not organizer_jobs.is_open(job),
            "state": job.state.value if job else None,
            "progress": job.progress if job else None,
        }
    )
    answer.add_etag()
    return answer


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
        days=PLACES_KEPT.days,
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
