"""API for the close: verify, reveal, finalize, publish the solution, create the bundle."""

from collections.abc import Mapping
from typing import Any

from flask import Response, request, url_for

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, OrganizerJob, OrganizerJobKind, Role
from grader.services.closing import checklist, verification
from grader.services.closing import close as closing
from grader.services.closing.checklist import CloseState
from grader.services.competitions.acting import Act
from grader.services.exports import bundle as bundles
from grader.services.jobs import organizer_jobs
from grader.services.solutions import publication
from grader.services.standings import final_standings
from webapp.competitions.views import CompetitionView
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family, NotConfirmed, is_form, ticked
from webapp.http.api import blueprint
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.organizer_operations import (
    DESK,
    Started,
    organizers_operation,
)
from webapp.organizers.closing import answers, pages
from webapp.organizers.closing.answers import (
    Bundle,
    BundleRequest,
    CloseAnswer,
    CloseRequest,
    FinalizeRequest,
    RevealRequest,
    SolutionPublicationRequest,
)
from webapp.organizers.closing.views import CloseView
from webapp.presentation import formats

TAG = "closing"
HERE = f"{DESK}/close"


class NotVerified(OrganizerError):
    """The competing submissions were not verified, and the request did not allow this."""

    public_name = "not_verified"
    why: str
    message = "{why} Verify first, or send `unverified: true`."

    @property
    def details(self) -> Mapping[str, Any]:
        """The reason why the standings do not count as verified."""
        return {"why": self.why}


@blueprint.get(HERE)
@organizers_operation(Role.VIEWER, answers=CloseAnswer, tag=TAG)
def closing_state(slug: str) -> CloseAnswer:
    """Return the stage of the close, its open items and its jobs."""
    with reading() as session:
        return _close(session, competition_of(session, slug))


@blueprint.get(f"{HERE}/bundle/<int:number>")
@organizers_operation(Role.VIEWER, answers=Bundle, tag=TAG)
def results_bundle(slug: str, number: int) -> Bundle:
    """Return the progress of a results bundle, and the URL of its file."""
    with reading() as session:
        job = organizer_jobs.get(
            session,
            competition=competition_of(session, slug),
            job_id=number,
            kind=OrganizerJobKind.BUNDLE,
        )
        return _bundle(slug, job)


@blueprint.get(f"{HERE}/bundle/<int:number>/file")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="application/zip")
def results_file(slug: str, number: int) -> Response:
    """Return a results bundle as a ZIP file."""
    return pages.send_bundle(slug, number)


def _close(session: Any, competition: Competition) -> CloseAnswer:
    jobs = checklist.jobs(session, competition=competition)
    version = competition.live_scoring_version
    return answers.close(
        checklist.state(session, competition=competition, now=db.now(session)),
        is_final=not any(map(organizer_jobs.is_open, jobs)),
        bundles=[_bundle(competition.slug, job) for job in jobs if job.kind is OrganizerJobKind.BUNDLE],
        revealed_at=competition.revealed_at,
        finalized_at=competition.finalized_at,
        final_number=final_standings.newest(session, competition=competition),
        solution_published_at=competition.solution_published_at,
        commitment=version.solution.commitment if version else None,
    )


def _bundle(slug: str, job: OrganizerJob) -> Bundle:
    return answers.bundle(job, url_for("api.results_file", slug=slug, number=job.id))


CLOSE = Family(
    pages=pages.blueprint,
    tag=TAG,
    refusals=(OrganizerError, NotConfirmed),
    show=pages.page,
    home=lambda slug: url_for("organize_close.index", slug=slug),
    answers=CloseAnswer,
    answer=lambda act, _outcome: _close(act.session, act.competition),
    role=Role.EDITOR,
)


@CLOSE.action("/now", page="now", done="The competition is closed.")
def close_competition(act: Act, sent: CloseRequest) -> None:
    """Close an open competition now. Entry and mergers end too; unset dates depend on the new close."""
    question = _question(act)
    closing.close_now(**act.parts, reason=sent.reason.strip())
    if is_form():
        confirm(question)


@CLOSE.action(
    "/verify",
    page="verify",
    done="Verification started.",
    answers=Started,
    answer=lambda act, job: organizing.started(job, url_for("api.closing_state", slug=act.competition.slug)),
    status=202,
)
def verify_standings(act: Act) -> OrganizerJob:
    """Recompute the scores of the competing submissions from their raw files, and compare them."""
    return verification.request(**act.parts)


@CLOSE.action(
    "/reveal", page="reveal", form=ticked(RevealRequest), done="The private leaderboard is revealed."
)
def reveal_standings(act: Act, sent: RevealRequest) -> None:
    """Make the private leaderboard public, and close the competition if it is still open."""
    state = checklist.state(act.session, competition=act.competition, now=act.now)
    closing.reveal(**act.parts)
    _require_verified(act, sent, state, "Reveal without verification?", "Reveal anyway")


@CLOSE.action("/finalize", page="finalize", form=ticked(FinalizeRequest), done="The standings are final.")
def finalize_standings(act: Act, sent: FinalizeRequest) -> None:
    """Make the provisional standings final."""
    state = checklist.state(act.session, competition=act.competition, now=act.now)
    closing.finalize(**act.parts, reason=sent.reason.strip())
    heading = "Make the standings final without verification?"
    _require_verified(act, sent, state, heading, "Make final anyway")


@CLOSE.action(
    "/solution",
    page="publish_solution",
    form=ticked(SolutionPublicationRequest),
    done="The solution is public.",
)
def publish_solution(act: Act, sent: SolutionPublicationRequest) -> None:
    """Publish the solution."""
    publication.publish(**act.parts, reason=sent.reason.strip())


@CLOSE.action(
    "/bundle",
    page="bundle",
    done="The results bundle is being created.",
    answers=Started,
    answer=lambda act, job: organizing.started(
        job, url_for("api.results_bundle", slug=act.competition.slug, number=job.id)
    ),
    status=202,
    creates=True,
)
def make_bundle(act: Act, sent: BundleRequest) -> OrganizerJob:
    """Create a bundle of the final results, optionally with the solution."""
    return bundles.request(**act.parts, with_solution=sent.with_solution)


def _question(act: Act) -> Question:
    """Return the confirmation for closing a competition early. Call this before the close."""
    view = CompetitionView(act.competition, act.now)
    state = checklist.state(act.session, competition=act.competition, now=act.now)
    until = f"It closes on {formats.moment(view.closes_at)}." if view.closes_at else "It has no closing date."
    waiting = formats.counted(state.waiting_count, "submission")
    return Question(
        heading=f"Close {view.title} now?",
        sentences=(
            f"{until} After the close, participants can no longer join, merge teams or submit files that "
            "count.",
            "Teams can no longer change their final selection. Unused selections are filled automatically.",
            *(
                [f"{waiting} accepted in time will still be scored and will count."]
                if state.waiting_count
                else []
            ),
        ),
        button="Close now",
        back=url_for("organize_close.index", slug=view.slug),
        state=repr(view.closes_at),
    )


def _require_verified(act: Act, sent: RevealRequest, state: CloseState, heading: str, button: str) -> None:
    """Ask for confirmation of unverified standings; API requests must set `unverified` instead."""
    if state.agrees:
        return
    if not is_form():
        if not sent.unverified:
            raise NotVerified(why=state.unverified)
        return
    here = url_for("organize_close.index", slug=act.competition.slug)
    can_verify = CloseView(state).can_verify
    if can_verify:
        advice = "Verify first. A large file takes about a second."
    else:
        advice = "You can verify after the close, once every submission accepted in time has its result."
    confirm(
        Question(
            heading=heading,
            sentences=(state.unverified, advice),
            button=button,
            back=here,
            is_final=True,
            links=((("Verify", f"{here}#verify"),) if can_verify else ()),
            can_change=bool(request.form.get("reason", "").strip()),
        )
    )
