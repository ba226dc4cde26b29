"""Close & results page: verify, reveal, finalize, publish the solution, create the bundle."""

from typing import Any

from flask import Blueprint, Response, render_template, request, send_file
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import JobState, OrganizerJob, OrganizerJobKind, Role
from grader.services.closing import checklist
from grader.services.competitions import phases
from grader.services.competitions.phases import Stage
from grader.services.jobs import organizer_jobs
from grader.services.jobs.organizer_jobs import UnknownOrganizerJob
from grader.services.leaderboards import score_history
from grader.services.standings import final_standings
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.responses import polled
from webapp.http.site import current_site
from webapp.organizers.closing import questions
from webapp.organizers.closing.views import CloseView, JobView, ShakeUpView, live_json

blueprint = Blueprint("organize_close", __name__, url_prefix="/competitions/<slug>/organize/close")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None) -> str:
    """Show the state of the close, or the reason why an action was rejected."""
    with reading() as session:
        now = db.now(session)
        competition = competition_of(session, slug)
        state = checklist.state(session, competition=competition, now=now)
        view = CompetitionView(competition, now)
        jobs = checklist.jobs(session, competition=competition)
        final_number = final_standings.newest(session, competition=competition)
        scale = competition.scale
        is_ranked = state.stage not in (Stage.RUNNING, Stage.CLOSED)
        moves = score_history.shake_up(session, competition=competition) if is_ranked else []
    version = competition.live_scoring_version
    return render_template(
        "closing/show.html",
        competition=view,
        close=CloseView(state),
        shake_up=ShakeUpView(moves, scale) if moves else None,
        bundles=[JobView(job) for job in jobs if job.kind is OrganizerJobKind.BUNDLE],
        is_live=any(map(organizer_jobs.is_open, jobs)),
        etag=_status(jobs, state.stage.value).headers["ETag"],
        revealed_at=competition.revealed_at,
        finalized_at=competition.finalized_at,
        final_number=final_number,
        solution_published_at=competition.solution_published_at,
        commitment=version.solution.commitment if version else None,
        problem=problem.message if problem else "",
        reason=request.form.get("reason", ""),
        tokens=questions.tokens(slug, state),
    )


@blueprint.get("/status")
@organizers_only(Role.VIEWER)
def status(slug: str) -> ResponseReturnValue:
    """Return the states of the jobs of the close as JSON."""
    with reading() as session:
        competition = competition_of(session, slug)
        jobs = checklist.jobs(session, competition=competition)
        stage = phases.stage(competition, db.now(session))
    return _status(jobs, stage.value).make_conditional(request)


@blueprint.get("/bundle/<int:number>")
@organizers_only(Role.VIEWER)
def download(slug: str, number: int) -> Response:
    """Download a results bundle."""
    return send_bundle(slug, number)


def send_bundle(slug: str, number: int) -> Response:
    """Send a results bundle; raise UnknownOrganizerJob if it is not complete."""
    site = current_site()
    with reading() as session:
        job = organizer_jobs.get(
            session,
            competition=competition_of(session, slug),
            job_id=number,
            kind=OrganizerJobKind.BUNDLE,
        )
    if job.state is not JobState.DONE or "sha256" not in job.result:
        raise UnknownOrganizerJob(job_id=number)
    return send_file(
        site.storage.open(job.result["sha256"]),
        mimetype="application/zip",
        as_attachment=True,
        download_name=job.result["file_name"],
        etag=job.result["sha256"],
    )


def _status(jobs: list[OrganizerJob], stage: str) -> Response:
    return polled(live_json(jobs, stage))
