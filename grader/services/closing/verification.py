"""Verification of competing submissions' scores by recomputation from the uploaded files.

The recomputation shares no code with the scoring, so an error in either shows up as a difference. Only a
metric.py, which has no second implementation, runs again.
"""

from collections.abc import Callable, Iterable, Sequence

from pydantic import ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.errors import OrganizerError
from grader.models import Competition, OrganizerJob, OrganizerJobKind, ScoringVersion, Submission
from grader.ranking import selection
from grader.receipts import Receipt, Recheck, UnreadableFile
from grader.services.closing.close import NotClosed
from grader.services.competitions import lookup, phases
from grader.services.competitions.acting import Act
from grader.services.competitions.phases import Stage
from grader.services.jobs import organizer_jobs
from grader.services.standings import shown_scores
from grader.services.stored_json import StoredJson
from grader.storage.stores import BlobDamaged, BlobMissing

Rechecker = Callable[[Receipt, bytes], Iterable[Recheck]]


class NotSettled(OrganizerError):
    """The competing submissions are not known yet."""

    public_name = "not_settled"
    message = (
        "The competing submissions are not known yet. Start the verification once every submission accepted "
        "in time has a result."
    )


class NothingToVerify(OrganizerError):
    """No submission competes on the private leaderboard."""

    public_name = "nothing_to_verify"
    message = "No submission competes on the private leaderboard, so there is nothing to verify."


class VerifyParameters(StoredJson):
    """Parameters of a verification: its scoring version."""

    scoring_version_id: int


class UnreproducedValue(StoredJson):
    """A stored value that the files do not reproduce."""

    submission_id: int
    team: str
    what: str
    stored: str
    recounted: str


class Verified(StoredJson):
    """Progress and results of a verification, saved regularly so that they survive a worker's crash."""

    model_config = ConfigDict(frozen=False)

    scoring_version: int
    solution: str
    submission_ids: list[int] = Field(default_factory=list)
    value_count: int = 0
    differences: list[UnreproducedValue] = Field(default_factory=list)


def request(act: Act) -> OrganizerJob:
    """Request a verification of the competing submissions under the live scoring version.

    Raises NotClosed or NotSettled.
    """
    match phases.stage(act.competition, act.now):
        case Stage.RUNNING:
            raise NotClosed(act.competition.closes_at)
        case Stage.CLOSED:
            raise NotSettled
    version = lookup.live(act.competition)
    job = organizer_jobs.add(
        act.session,
        competition=act.competition,
        kind=OrganizerJobKind.VERIFY,
        parameters=VerifyParameters(scoring_version_id=version.id).as_dict(),
        created_by=act.actor.user,
        now=act.now,
    )
    act.record("verification.start", f"scoring version {version.number}")
    return job


def competing(session: Session, *, version: ScoringVersion) -> list[Submission]:
    """Return the submissions that compete on the private leaderboard, for all teams.

    Raises NothingToVerify.
    """
    competition = session.get_one(Competition, version.competition_id)
    boards = selection.compute(
        shown_scores.scored(session, scoring_version_id=version.id),
        disqualified=shown_scores.disqualified(session, competition_id=competition.id),
        selection_count=competition.selection_count,
    )
    chosen = [choice.submission_id for choices in boards.choices.values() for choice in choices]
    if not chosen:
        raise NothingToVerify
    submissions: list[Submission] = []
    for first in range(0, len(chosen), 1000):
        submissions += session.scalars(
            select(Submission)
            .where(Submission.id.in_(chosen[first : first + 1000]))
            .options(joinedload(Submission.team), joinedload(Submission.competition))
        )
    return sorted(submissions, key=lambda submission: submission.id)


def verify_all(
    verified: Verified,
    *,
    submissions: Sequence[Submission],
    receipt_of: Callable[[Submission], Receipt],
    digest: str,
    recheck: Rechecker,
    read: Callable[[str], bytes],
    kept: Callable[[Verified], None],
) -> None:
    """Verify the remaining submissions one after another, and call `kept` after each one.

    `digest` is the hash of the stored solution, and `recheck` compares a receipt with the file.
    """
    if digest != verified.solution:
        raise OrganizerError(
            "The stored solution is damaged: its hash has changed since the solution was accepted."
        )
    done = set(verified.submission_ids)
    for submission in submissions:
        if submission.id not in done:
            _verify(verified, submission, receipt_of(submission), recheck, read)
            kept(verified)


def _verify(
    verified: Verified,
    submission: Submission,
    receipt: Receipt,
    recheck: Rechecker,
    read: Callable[[str], bytes],
) -> None:
    try:
        checks = list(recheck(receipt, read(submission.sha256)))
    except UnreadableFile as error:
        verified.differences.append(_difference(submission, "file", "scored", error.message))
    except (BlobMissing, BlobDamaged) as error:
        verified.differences.append(_difference(submission, "file", submission.sha256, error))
    else:
        verified.value_count += len(checks)
        verified.differences += [
            _difference(submission, check.what, check.expected, check.found)
            for check in checks
            if not check.holds
        ]
    verified.submission_ids.append(submission.id)


def _difference(submission: Submission, what: str, stored: object, recounted: object) -> UnreproducedValue:
    return UnreproducedValue(
        submission_id=submission.id,
        team=submission.team.name,
        what=what,
        stored=str(stored),
        recounted=str(recounted),
    )
