"""API for the close: verify, reveal, finalize, publish the solution, create the bundle."""

from typing import Any

from flask import Response, url_for

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, OrganizerJob, OrganizerJobKind, Role
from grader.services.closing import checklist, verification
from grader.services.closing import close as closing
from grader.services.competitions.acting import Act
from grader.services.exports import bundle as bundles
from grader.services.jobs import organizer_jobs
from grader.services.solutions import publication
from grader.services.standings import final_standings
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.api import blueprint
from webapp.http.confirmation import confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Confirmation
from webapp.http.organizer_operations import DESK, ConfirmedReason, Started, organizers_operation
from webapp.organizers.closing import answers, pages, questions
from webapp.organizers.closing.answers import (
    Bundle,
    BundleRequest,
    CloseAnswer,
    CloseRequest,
    FinalRequest,
)

TAG = "closing"
HERE = f"{DESK}/close"


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
    refusals=(OrganizerError,),
    show=pages.index,
    home=lambda slug: url_for("organize_close.index", slug=slug),
    answers=CloseAnswer,
    answer=lambda act, _outcome: _close(act.session, act.competition),
    role=Role.EDITOR,
)


@CLOSE.action("/now", page="now", done="The competition is closed.")
def close_competition(act: Act, sent: CloseRequest) -> None:
    """Close an open competition now. Entry and mergers end too; unset dates depend on the new close."""
    question = questions.close_now(act)
    closing.close_now(act, reason=sent.reason.strip())
    confirm(question)


@CLOSE.action(
    "/verify",
    page="verify",
    done="Verification started.",
    **organizing.starts("api.closing_state"),
)
def verify_standings(act: Act) -> OrganizerJob:
    """Recompute the scores of the competing submissions from their raw files, and compare them."""
    return verification.request(act)


@CLOSE.action("/reveal", page="reveal", done="The private leaderboard is revealed.")
def reveal_standings(act: Act, sent: Confirmation) -> None:
    """Make the private leaderboard public, and close the competition if it is still open."""
    state = checklist.state(act.session, competition=act.competition, now=act.now)
    closing.reveal(**act.parts)
    confirm(questions.verified(act.competition.slug, questions.REVEAL, state))


@CLOSE.action("/finalize", page="finalize", done="The standings are final.")
def finalize_standings(act: Act, sent: FinalRequest) -> None:
    """Make the provisional standings final."""
    state = checklist.state(act.session, competition=act.competition, now=act.now)
    closing.finalize(**act.parts, reason=sent.reason.strip())
    confirm(questions.verified(act.competition.slug, questions.FINALIZE, state))


@CLOSE.action("/solution", page="publish_solution", done="The solution is public.")
def publish_solution(act: Act, sent: ConfirmedReason) -> None:
    """Publish the solution."""
    publication.publish(**act.parts, reason=sent.reason.strip())
    heading = questions.PUBLISH_SOLUTION
    confirm(questions.irreversible(act.competition.slug, heading, "Publish the solution"))


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
    return bundles.request(act, with_solution=sent.with_solution)
