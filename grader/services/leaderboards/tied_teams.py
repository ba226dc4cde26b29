"""Statistical ties between teams: paired tests, marks, publication.

A worker compares adjacent entries of the leaderboards by the paired test on the same rows. After the
reveal, the private leaderboard shows marks if the competition marks ties or an organizer publishes them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, or_, select
from sqlalchemy.orm import Session, aliased

from grader.errors import OrganizerError
from grader.metrics.interface import Exactness
from grader.models import (
    STANDING_ORDER,
    AuditEntry,
    Competition,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Split,
    Standing,
    Submission,
    Team,
    on_board,
)
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, metric
from grader.services.competitions.acting import Act
from grader.services.jobs import organizer_jobs
from grader.services.stored_json import StoredJson

MAX_TEAMS = 100
# The audited actions that change the private leaderboard.
DECISIONS = ("team.disqualify", "team.reinstate", "submission.mark")
FAILED_AGAIN_AFTER = timedelta(days=1)


class TiesNotPublishable(OrganizerError):
    """Teams cannot be compared, or the comparison cannot be published."""

    public_name = "ties_not_publishable"


@dataclass(frozen=True, slots=True)
class ComparedEntry:
    """One entry of a leaderboard; `difference` is the score of the team above minus the entry's score."""

    rank: int
    team_id: int
    team: str
    submission_id: int
    sha256: str
    difference: dict[str, Any] | None = None


class TiesParameters(StoredJson):
    """Parameters of a comparison: its scoring version."""

    scoring_version_id: int


@dataclass(frozen=True, slots=True)
class SplitTies:
    """The ties on a leaderboard; they are stale if its entries or the live scoring version have changed."""

    split: Split
    lines: Sequence[ComparedEntry]
    is_stale: bool


def due(session: Session, *, now: datetime) -> list[Competition]:
    """Return the revealed competitions that mark ties and have no current comparison.

    A decision of the organizers makes earlier comparisons outdated. A failed comparison is repeated after a
    day.
    """
    job = aliased(OrganizerJob)
    compared = select(job.id).where(
        job.competition_id == Competition.id,
        job.kind == OrganizerJobKind.TIES,
        job.created_at >= Competition.revealed_at,
        job.parameters["scoring_version_id"].as_integer() == Competition.live_scoring_version_id,
        or_(job.state != JobState.FAILED, job.finished_at > now - FAILED_AGAIN_AFTER),
        ~decided_after(job),
    )
    query = select(Competition).where(
        Competition.revealed_at.is_not(None), Competition.marks_ties, ~compared.exists()
    )
    return [each for each in session.scalars(query) if not why_not(each)]


def decided_after(job: type[OrganizerJob]) -> ColumnElement[bool]:
    """Return whether organizers have changed the private leaderboard since a job was added."""
    decided = select(AuditEntry.id).where(
        AuditEntry.competition_id == job.competition_id,
        AuditEntry.action.in_(DECISIONS),
        AuditEntry.at > job.created_at,
    )
    return decided.exists()


def why_not(competition: Competition) -> str:
    """Return why teams cannot be compared, or an empty text: the metric needs influences of the rows."""
    version = competition.live_scoring_version
    if version is None or metric.of_version(version).describe().exactness is not Exactness.OPAQUE:
        return ""
    return (
        "The metric is a function of the complete file, so no test can show which teams are tied. A metric "
        "with rows and combine has ties."
    )


def marks_itself(competition: Competition) -> bool:
    """Return whether tie marks are public even if no organizer publishes them."""
    return competition.marks_ties and competition.revealed_at is not None


def request(
    session: Session, *, competition: Competition, actor: Actor | None, now: datetime
) -> OrganizerJob:
    """Add a job that compares each team with the team above; raise TiesNotPublishable.

    Scheduled tasks have no actor.
    """
    version = lookup.live(competition)
    if reason := why_not(competition):
        raise TiesNotPublishable(reason)
    job = organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.TIES,
        parameters=TiesParameters(scoring_version_id=version.id).as_dict(),
        created_by=actor.user if actor else None,
        now=now,
    )
    if actor is not None:
        Act(session, competition, actor, now).record("ties.start", f"scoring version {version.number}")
    return job


def publish(act: Act) -> None:
    """Publish the ties on the private leaderboard; raise TiesNotPublishable."""
    session, competition = act.session, act.competition
    if competition.revealed_at is None:
        raise TiesNotPublishable("Ties can be published after the private leaderboard is revealed.")
    job = newest(session, competition=competition)
    board = _private(session, competition, job)
    if job is None or board is None or board.is_stale:
        raise TiesNotPublishable("Compare the teams on the current private leaderboard first.")
    if is_published(job):
        raise TiesNotPublishable("These ties are already published.")
    job.result = job.result | {"published_at": act.now.isoformat()}
    act.record(
        "ties.publish",
        f"scoring version {lookup.live(competition).number}",
        public_text="The organizers published which teams are statistically tied on the private leaderboard.",
    )


def is_published(job: OrganizerJob) -> bool:
    """Return whether the tie marks of a comparison are public."""
    return "published_at" in job.result


def published_marks(session: Session, *, competition: Competition) -> frozenset[int]:
    """Return the teams marked as tied with the team above in the newest published comparison."""
    job = session.scalar(
        select(OrganizerJob)
        .where(
            OrganizerJob.competition_id == competition.id,
            OrganizerJob.kind == OrganizerJobKind.TIES,
            OrganizerJob.result["published_at"].as_string().is_not(None),
        )
        .order_by(OrganizerJob.id.desc())
        .limit(1)
    )
    board = _private(session, competition, job) if competition.revealed_at is not None else None
    if board is None or board.is_stale:
        return frozenset()
    return frozenset(line.team_id for line in board.lines if line.difference and line.difference["is_tied"])


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest comparison."""
    return next(
        iter(organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.TIES)), None
    )


def places(session: Session, *, scoring_version_id: int, split: Split) -> list[ComparedEntry]:
    """Return the top entries of a leaderboard, best first; private ones only after settling."""
    rows = session.execute(
        select(Team.id, Team.name, Submission.id, Submission.sha256)
        .select_from(Standing)
        .join(Team, Team.id == Standing.team_id)
        .join(Submission, Submission.id == Standing.submission_id)
        .where(*on_board(scoring_version_id, split))
        .order_by(*STANDING_ORDER)
        .limit(MAX_TEAMS)
    )
    return [ComparedEntry(rank, *row) for rank, row in enumerate(rows, start=1)]


def split_ties(session: Session, *, competition: Competition, job: OrganizerJob | None) -> list[SplitTies]:
    """Return the results of a comparison with current team names; empty unless it is done."""
    if job is None or job.state is not JobState.DONE:
        return []
    version_id = TiesParameters.from_dict(job.parameters).scoring_version_id
    return [
        _split_ties(session, competition, version_id, Split(split), lines)
        for split, lines in job.result["splits"].items()
    ]


def _private(session: Session, competition: Competition, job: OrganizerJob | None) -> SplitTies | None:
    boards = split_ties(session, competition=competition, job=job)
    return next((board for board in boards if board.split is Split.PRIVATE), None)


def _split_ties(
    session: Session, competition: Competition, version_id: int, split: Split, lines: list[dict[str, Any]]
) -> SplitTies:
    compared = [line["submission_id"] for line in lines]
    now = places(session, scoring_version_id=lookup.live(competition).id, split=split)
    is_current = (
        version_id == competition.live_scoring_version_id
        and [place.submission_id for place in now] == compared
    )
    known = session.execute(
        select(Team.id, Team.name, Submission.id, Submission.sha256)
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.id.in_(compared))
    )
    rows = {row[2]: row for row in known}
    ties = [
        ComparedEntry(rank, *rows[line["submission_id"]], line["difference"])
        for rank, line in enumerate(lines, start=1)
    ]
    return SplitTies(split, ties, is_stale=not is_current)
