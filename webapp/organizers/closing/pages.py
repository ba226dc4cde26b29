"""Organizers' page of the close: verify, reveal, finalize, publish the solution, results bundle."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, flash, jsonify, redirect, render_template, request, send_file, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import OrganizerError
from grader.models import JobState, OrganizerJob, OrganizerJobKind, Role
from grader.services.closing import checklist, close, verification
from grader.services.closing.checklist import CloseState
from grader.services.competitions import phases
from grader.services.competitions.phases import Stage
from grader.services.exports import bundle as bundles
from grader.services.jobs import organizer_jobs
from grader.services.jobs.organizer_jobs import UnknownOrganizerJob
from grader.services.leaderboards import score_history
from grader.services.solutions import publication
from grader.services.standings import final_standings
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm, wants_to_change
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.errors import BadRequest, wants_json
from webapp.http.site import current_site
from webapp.organizers.closing.views import CloseView, JobView, ShakeUpView, live_json
from webapp.presentation import formats

blueprint = Blueprint("organize_close", __name__, url_prefix="/competitions/<slug>/organize/close")


class NotConfirmed(BadRequest):
    """An act that cannot be taken back needs its box ticked."""

    public_name = "not_confirmed"
    message = "Tick the box first: this cannot be undone."


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show where the close is and what is missing."""
    return _page(slug)


@blueprint.get("/status")
@organizers_only(Role.VIEWER)
def status(slug: str) -> ResponseReturnValue:
    """Return the states of the close's jobs as JSON."""
    with reading() as session:
        competition = competition_of(session, slug)
        jobs = checklist.jobs(session, competition=competition)
        stage = phases.stage(competition, db.now(session))
    return _status(jobs, stage.value).make_conditional(request)


@blueprint.post("/now")
@organizers_only(Role.EDITOR)
def now(slug: str) -> ResponseReturnValue:
    """Close a competition before its closing date."""
    reason = request.form.get("reason", "").strip()
    return _act(slug, close.close_now, "The competition is closed.", ask=_close_now, reason=reason)


@blueprint.post("/verify")
@organizers_only(Role.EDITOR)
def verify(slug: str) -> ResponseReturnValue:
    """Have the submissions that compete rescored from their raw files and compared."""
    return _act(slug, verification.request, "Verification started.")


@blueprint.post("/reveal")
@organizers_only(Role.EDITOR)
def reveal(slug: str) -> ResponseReturnValue:
    """Open the private leaderboard to everybody."""
    words = "Reveal without a verification?", "Reveal anyway"
    return _act(
        slug, close.reveal, "The private leaderboard is revealed.", must_confirm=True, unverified=words
    )


@blueprint.post("/finalize")
@organizers_only(Role.EDITOR)
def finalize(slug: str) -> ResponseReturnValue:
    """Make the provisional standings final."""
    reason = request.form.get("reason", "").strip()
    words = "Make the standings final without a verification?", "Make final anyway"
    return _act(
        slug, close.finalize, "The standings are final.", must_confirm=True, unverified=words, reason=reason
    )


@blueprint.post("/solution")
@organizers_only(Role.EDITOR)
def publish_solution(slug: str) -> ResponseReturnValue:
    """Let everybody see the solution."""
    reason = request.form.get("reason", "").strip()
    return _act(slug, publication.publish, "The solution is public.", must_confirm=True, reason=reason)


@blueprint.post("/bundle")
@organizers_only(Role.EDITOR)
def bundle(slug: str) -> ResponseReturnValue:
    """Have the results packed, with the solution if that is chosen."""
    with_solution = request.form.get("with_solution") == "yes"
    return _act(slug, bundles.request, "The results bundle is being created.", with_solution=with_solution)


@blueprint.get("/bundle/<int:number>")
@organizers_only(Role.VIEWER)
def download(slug: str, number: int) -> Response:
    """Download a results bundle."""
    return send_bundle(slug, number)


def send_bundle(slug: str, number: int) -> Response:
    """Send a results bundle; raise UnknownOrganizerJob where it is not done."""
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


def _act(
    slug: str,
    act: Callable[..., object],
    done: str,
    *,
    must_confirm: bool = False,
    unverified: tuple[str, str] | None = None,
    ask: Callable[[CompetitionView, CloseState], Question] | None = None,
    **options: Any,
) -> ResponseReturnValue:
    """Do an act of the close; where it cannot be done the page says why and keeps what was written.

    With the words `unverified` it is asked first where what competes was not verified; `ask` returns a
    question that is always asked.
    """
    if wants_to_change():
        return _page(slug)
    try:
        if must_confirm:
            require_confirmed()
        with writing() as session:
            competition, now = competition_of(session, slug), db.now(session)
            state = checklist.state(session, competition=competition, now=now)
            question = ask(CompetitionView(competition, now), state) if ask is not None else None
            act(session, competition=competition, actor=actor(), now=now, **options)
            if question is not None:
                confirm(question)
            if unverified is not None and not state.agrees:
                confirm(_unverified(slug, state, *unverified))
    except (OrganizerError, NotConfirmed) as error:
        if wants_json():
            raise
        return _page(slug, problem=error.message), 409
    flash(done)
    return redirect(url_for("organize_close.index", slug=slug), 303)


def _close_now(view: CompetitionView, state: CloseState) -> Question:
    until = f"It closes on {formats.moment(view.closes_at)}." if view.closes_at else "It has no closing date."
    waiting = formats.counted(state.waiting_count, "submission")
    return Question(
        heading=f"Close {view.title} now?",
        sentences=(
            f"{until} If you close it now, nobody can submit a file that counts, join or merge teams.",
            "Teams can no longer change their final selection, and free places are filled automatically.",
            *([f"{waiting} accepted in time will still be scored and count."] if state.waiting_count else []),
        ),
        button="Close now",
        back=url_for("organize_close.index", slug=view.slug),
        state=repr(view.closes_at),
    )


def _unverified(slug: str, state: CloseState, heading: str, button: str) -> Question:
    here = url_for("organize_close.index", slug=slug)
    can_verify = CloseView(state).can_verify
    if can_verify:
        advice = "Verify first. A large file takes about a second."
    else:
        advice = "You can verify after the close, once every submission accepted in time has its result."
    return Question(
        heading=heading,
        sentences=(state.unverified, advice),
        button=button,
        back=here,
        is_final=True,
        links=((("Verify", f"{here}#verify"),) if can_verify else ()),
        can_change=bool(request.form.get("reason", "").strip()),
    )


def require_confirmed() -> None:
    """Raise NotConfirmed unless the form's box is ticked."""
    if request.form.get("confirm") != "yes":
        raise NotConfirmed


def _page(slug: str, *, problem: str = "") -> str:
    with reading() as session:
        now = db.now(session)
        competition = competition_of(session, slug)
        state = checklist.state(session, competition=competition, now=now)
        view = CompetitionView(competition, now)
        jobs = checklist.jobs(session, competition=competition)
        final_number = final_standings.newest(session, competition=competition)
        is_ranked = state.stage not in (Stage.RUNNING, Stage.CLOSED)
        moves = score_history.shake_up(session, competition=competition) if is_ranked else []
    version = competition.live_scoring_version
    return render_template(
        "closing/show.html",
        competition=view,
        close=CloseView(state),
        shake_up=ShakeUpView(moves) if moves else None,
        bundles=[JobView(job) for job in jobs if job.kind is OrganizerJobKind.BUNDLE],
        is_live=any(map(organizer_jobs.is_open, jobs)),
        etag=_status(jobs, state.stage.value).headers["ETag"],
        revealed_at=competition.revealed_at,
        finalized_at=competition.finalized_at,
        final_number=final_number,
        reveals_at=view.reveals_at,
        solution_published_at=competition.solution_published_at,
        commitment=version.solution.commitment if version else None,
        takes_late=competition.takes_late_submissions,
        problem=problem,
        reason=request.form.get("reason", ""),
    )


def _status(jobs: list[OrganizerJob], stage: str) -> Response:
    answer = jsonify(live_json(jobs, stage))
    answer.add_etag()
    return answer
