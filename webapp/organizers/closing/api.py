"""API: close a competition: verify, reveal, make final, publish the solution, pack the results."""

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response, url_for

from grader import db
from grader.errors import OrganizerError
from grader.models import OrganizerJobKind, Role
from grader.services.closing import checklist, verification
from grader.services.closing import close as closing
from grader.services.exports import bundle as bundles
from grader.services.jobs import organizer_jobs
from grader.services.solutions import publication
from grader.services.standings import final_standings
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint
from webapp.http.context import actor, competition_of, reading, writing
from webapp.http.organizer_operations import DESK, Started, act, organizers_operation
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

TAG = "closing"
HERE = f"{DESK}/close"


class NotVerified(OrganizerError):
    """What competes was not verified, and the request did not say to go on all the same."""

    public_name = "not_verified"
    why: str
    message = "{why} Verify first, or send `unverified` as true."

    @property
    def details(self) -> Mapping[str, Any]:
        """Why it does not count as verified."""
        return {"why": self.why}


@blueprint.get(HERE)
@organizers_operation(Role.VIEWER, answers=CloseAnswer, tag=TAG)
def closing_state(slug: str) -> CloseAnswer:
    """Return where the close is, what is missing, and its jobs."""
    return _close(slug)


@blueprint.post(f"{HERE}/now")
@organizers_operation(Role.EDITOR, answers=CloseAnswer, tag=TAG)
def close_competition(slug: str, json: CloseRequest) -> CloseAnswer:
    """Close an open competition now; entry and mergers end with it, and dates that nobody chose follow."""
    act(slug, closing.close_now, reason=json.reason.strip())
    return _close(slug)


@blueprint.post(f"{HERE}/verify")
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG)
def verify_standings(slug: str) -> Any:
    """Rescore the submissions that compete from their raw files, and compare."""
    return organizing.started(act(slug, verification.request), url_for("api.closing_state", slug=slug))


@blueprint.post(f"{HERE}/reveal")
@organizers_operation(Role.EDITOR, answers=CloseAnswer, tag=TAG)
def reveal_standings(slug: str, json: RevealRequest) -> CloseAnswer:
    """Open the private leaderboard to everybody; a competition that is still open closes."""
    return _decide(slug, closing.reveal, unverified=json.unverified)


@blueprint.post(f"{HERE}/finalize")
@organizers_operation(Role.EDITOR, answers=CloseAnswer, tag=TAG)
def finalize_standings(slug: str, json: FinalizeRequest) -> CloseAnswer:
    """Make the provisional standings final."""
    return _decide(slug, closing.finalize, unverified=json.unverified, reason=json.reason.strip())


@blueprint.post(f"{HERE}/solution")
@organizers_operation(Role.EDITOR, answers=CloseAnswer, tag=TAG)
def publish_solution(slug: str, json: SolutionPublicationRequest) -> CloseAnswer:
    """Let everybody see the solution."""
    act(slug, publication.publish, reason=json.reason.strip())
    return _close(slug)


@blueprint.post(f"{HERE}/bundle")
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG, creates=True)
def make_bundle(slug: str, json: BundleRequest) -> Any:
    """Pack the final results, with the solution if that is chosen."""
    job = act(slug, bundles.request, with_solution=json.with_solution)
    return organizing.started(job, url_for("api.results_bundle", slug=slug, number=job.id))


@blueprint.get(f"{HERE}/bundle/<int:number>")
@organizers_operation(Role.VIEWER, answers=Bundle, tag=TAG)
def results_bundle(slug: str, number: int) -> Bundle:
    """Return how far a results bundle is, and where to download it."""
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
    """Return a results bundle."""
    return pages.send_bundle(slug, number)


def _decide(slug: str, service: Callable[..., object], *, unverified: bool, **given: Any) -> CloseAnswer:
    with writing() as session:
        competition, now = competition_of(session, slug), db.now(session)
        state = checklist.state(session, competition=competition, now=now)
        service(session, competition=competition, actor=actor(), now=now, **given)
        if not (unverified or state.agrees):
            raise NotVerified(why=state.unverified)
    return _close(slug)


def _close(slug: str) -> CloseAnswer:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        jobs = checklist.jobs(session, competition=competition)
        version = competition.live_scoring_version
        return answers.close(
            checklist.state(session, competition=competition, now=now),
            is_final=not any(map(organizer_jobs.is_open, jobs)),
            bundles=[_bundle(slug, job) for job in jobs if job.kind is OrganizerJobKind.BUNDLE],
            revealed_at=competition.revealed_at,
            finalized_at=competition.finalized_at,
            final_number=final_standings.newest(session, competition=competition),
            solution_published_at=competition.solution_published_at,
            commitment=version.solution.commitment if version else None,
        )


def _bundle(slug: str, job: Any) -> Bundle:
    return answers.bundle(job, url_for("api.results_file", slug=slug, number=job.id))
