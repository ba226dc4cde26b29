"""What a look through the submissions has found: signs of probing by team, and files that are alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, delete, func, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import (
    Competition,
    CompetitionState,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Score,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.jobs import organizer_jobs
from grader.services.stored_json import StoredJson, StoredNames

EVERY = timedelta(days=1)
MAX_FILES = 10_000
MAX_CELLS = 2_000_000_000
"""So many predictions at most are looked through, so that a job ends in time whatever the rows."""


class FoundBlock(StoredJson):
    """How high the rows of an identity lie in the team's best file and in this one; 0.5 is the middle."""

    identity: str
    before: float
    height: float


class FoundSigns(StoredJson):
    """One file with signs, and their evidence.

    `best_id` and `nearest_id` are the team's best file before it and the earlier one that is nearest to it.
    """

    submission_id: int
    signs: StoredNames
    rows: int
    distinct: int
    largest_tie: float
    lone_levels: int
    auc: float | None
    best_id: int | None
    best_correlation: float | None
    nearest_id: int | None
    moved: int | None
    block: FoundBlock | None


class FoundTeam(StoredJson):
    """A team with enough such files: how many files it sent, how many have signs that count, the first."""

    team_id: int
    file_count: int
    sign_count: int
    files: list[FoundSigns]


class FoundPair(StoredJson):
    """Two files of different teams that are alike, the earlier one first.

    `agreement` is the share of a secret sample of rows on which both differ from the crowd in the same way,
    `moved` how many of those rows moved, and `distinct` how many different values the earlier file has.
    Of a blend, `third_id` is the file that explains the share `agreement` of what the two differ in.
    `known_ids` are files of the organizers that one of the two is near to. `points` are some of the rows:
    their places in both orders, from 0 to 1000.
    """

    one_id: int
    other_id: int
    has_same_bytes: bool
    has_same_order: bool
    third_id: int | None
    distinct: int
    agreement: float
    correlation: float
    moved: int
    rows: int
    known_ids: list[int]
    points: list[list[int]]


class FoundFollower(StoredJson):
    """A file that follows the coins of the canary rows too well for chance.

    Of `pairs` of a row with coin 1 and one with coin 0 it orders `as_drawn` as the coins do, which an honest
    file does, or more of them, with the probability `chance`.
    """

    submission_id: int
    is_known: bool
    pairs: int
    as_drawn: float
    chance: float


class FoundCanaries(StoredJson):
    """How many canary rows there are, and the files that follow them."""

    rows: int
    followers: list[FoundFollower]


class Report(StoredJson):
    """What was found. `unread_count` files could not be read in time, and `older_count` were left out."""

    file_count: int
    team_count: int
    unread_count: int
    older_count: int
    teams: list[FoundTeam]
    pairs: list[FoundPair]
    canaries: FoundCanaries | None = None


def request(
    session: Session, *, competition: Competition, actor: Actor | None, now: datetime
) -> OrganizerJob:
    """Add the job that looks through the submissions, unless one is under way; the calendar has no actor."""
    version = lookup.live(competition)
    running = newest(session, competition=competition)
    if running is not None and organizer_jobs.is_open(running):
        return running
    _forget_older(session, competition)
    job = organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.FAIR_PLAY,
        parameters={},
        created_by=actor.user if actor else None,
        now=now,
    )
    if actor is not None:
        Act(session, competition, actor, now).record("fair_play.start", f"scoring version {version.number}")
    return job


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest job."""
    return next(iter(_jobs(session, competition)), None)


def last(session: Session, *, competition: Competition) -> tuple[OrganizerJob, Report] | None:
    """Return the newest job that ended well, and what it found."""
    for job in _jobs(session, competition):
        if job.state is JobState.DONE:
            return job, Report.from_dict(job.result)
    return None


def submissions(session: Session, *, found: Report) -> dict[int, Submission]:
    """Return the submissions that a report names, by their ids, with their teams of now."""
    ids = {file.submission_id for team in found.teams for file in team.files}
    ids |= {number for pair in found.pairs for number in (pair.one_id, pair.other_id)}
    ids |= {file.submission_id for file in (found.canaries.followers if found.canaries else ())}
    rows = session.scalars(
        select(Submission).where(Submission.id.in_(ids)).options(joinedload(Submission.team))
    )
    return {submission.id: submission for submission in rows}


def due(session: Session, *, now: datetime) -> list[Competition]:
    """Return the competitions with new files whose last look is a day ago, until a day after the close."""
    of_competition = and_(
        OrganizerJob.competition_id == Competition.id, OrganizerJob.kind == OrganizerJobKind.FAIR_PLAY
    )
    last_look = select(func.max(OrganizerJob.created_at)).where(of_competition).scalar_subquery()
    since = func.coalesce(last_look, Competition.opens_at)
    has_new = (
        select(Submission.id)
        .where(Submission.competition_id == Competition.id, Submission.submitted_at > since)
        .exists()
    )
    return list(
        session.scalars(
            select(Competition).where(
                Competition.state == CompetitionState.PUBLISHED,
                Competition.live_scoring_version_id.is_not(None),
                since <= now - EVERY,
                or_(Competition.closes_at.is_(None), Competition.closes_at > now - EVERY),
                has_new,
            )
        )
    )


def _jobs(session: Session, competition: Competition) -> Sequence[OrganizerJob]:
    return organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.FAIR_PLAY, limit=5)


def _forget_older(session: Session, competition: Competition) -> None:
    """Delete the jobs before the last that ended well: each report says everything again."""
    kept = next((job for job in _jobs(session, competition) if job.state is JobState.DONE), None)
    if kept is not None:
        session.execute(
            delete(OrganizerJob).where(
                OrganizerJob.competition_id == competition.id,
                OrganizerJob.kind == OrganizerJobKind.FAIR_PLAY,
                OrganizerJob.id < kept.id,
            )
        )


@dataclass(frozen=True, slots=True)
class File:
    """A submission's file; `score` and `auc` are its score and overall AUC on the public rows.

    `is_known` marks organizers' files and benchmarks, with which participants' files are compared alone.
    """

    submission_id: int
    team_id: int
    sha256: str
    submitted_at: datetime
    score: float | None
    auc: float | None
    is_known: bool


def newest_files(session: Session, *, competition: Competition, rows: int) -> tuple[list[File], int]:
    """Return the newest files of a competition, the oldest of them first, and how many are older."""
    found = session.execute(
        select(
            Submission.id,
            Submission.team_id,
            Submission.sha256,
            Submission.submitted_at,
            Score.score,
            Score.overall_auc,
            or_(Team.is_organizers, Submission.kind == SubmissionKind.BENCHMARK),
        )
        .join(Team, Team.id == Submission.team_id)
        .outerjoin(
            Score,
            and_(
                Score.submission_id == Submission.id,
                Score.scoring_version_id == competition.live_scoring_version_id,
                Score.split == Split.PUBLIC,
            ),
        )
        .where(
            Submission.competition_id == competition.id,
            Submission.status.in_((SubmissionStatus.SCORED, SubmissionStatus.PENDING)),
            Submission.file_deleted_at.is_(None),
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
    ).all()
    limit = min(MAX_FILES, MAX_CELLS // max(rows, 1))
    return [File(*row) for row in reversed(found[:limit])], max(len(found) - limit, 0)
