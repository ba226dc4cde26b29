"""Organizers' page of statistically tied teams: compute and publish them."""

from flask import Response, flash, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import OrganizerJob, Role, Split
from grader.services.jobs import organizer_jobs
from grader.services.leaderboards import ties as tied_teams
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import wants_json
from webapp.organizers.closing.pages import NotConfirmed, require_confirmed
from webapp.organizers.closing.views import JobView
from webapp.organizers.console.console_page import blueprint


@blueprint.get("/ties")
@organizers_only(Role.VIEWER)
def ties(slug: str) -> ResponseReturnValue:
    """Show which teams were tied with the one above when they were compared last."""
    return _page(slug)


@blueprint.post("/ties/publish")
@organizers_only(Role.EDITOR)
def publish_ties(slug: str) -> ResponseReturnValue:
    """Let everybody see which teams are tied on the private leaderboard."""
    try:
        require_confirmed()
        with writing() as session:
            tied_teams.publish(
                session,
                competition=competition_of(session, slug),
                actor=actor(),
                now=db.now(session),
            )
    except (tied_teams.TiesNotPublishable, NotConfirmed) as error:
        if wants_json():
            raise
        return _page(slug, problem=error.message), 409
    flash("The ties are public.")
    return redirect(url_for("leaderboards.private", slug=slug), 303)


def _page(slug: str, *, problem: str = "") -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        job = tied_teams.newest(session, competition=competition)
        boards = tied_teams.found(session, competition=competition, job=job)
    return render_template(
        "running/ties.html",
        competition=view,
        job=JobView(job) if job else None,
        boards=boards,
        most=tied_teams.MAX_TEAMS,
        marks_ties=competition.marks_ties and not view.is_revealed,
        is_published=job is not None and tied_teams.is_published(job),
        can_publish=view.is_revealed
        and any(board.split is Split.PRIVATE and not board.is_stale for board in boards),
        problem=problem,
        etag=_status(job).headers["ETag"],
    )


@blueprint.post("/ties")
@organizers_only(Role.EDITOR)
def compare_teams(slug: str) -> ResponseReturnValue:
    """Have the teams compared again."""
    with writing() as session:
        competition = competition_of(session, slug)
        tied_teams.request(session, competition=competition, actor=actor(), now=db.now(session))
    flash("The teams are being compared.")
    return redirect(url_for(".ties", slug=slug), 303)


@blueprint.get("/ties/status")
@organizers_only(Role.VIEWER)
def ties_status(slug: str) -> ResponseReturnValue:
    """Return the state of the comparison as JSON."""
    with reading() as session:
        job = tied_teams.newest(session, competition=competition_of(session, slug))
    return _status(job).make_conditional(request)


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
