"""Which teams are statistically tied with the team directly above: for organizers to see, never the rank.

A worker compares the entries that stand on the boards, by the paired test on the same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import (
    Competition,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Split,
    Standing,
    Submission,
    Team,
)
from grader.services import audit, competitions, organizer_jobs
from grader.services.audit import Actor

MAX_TEAMS = 100


@dataclass(frozen=True, slots=True)
class Place:
    """An entry that stands on a board."""

    rank: int
    team_id: int
    team: str
    submission_id: int
    sha256: str


@dataclass(frozen=True, slots=True)
class TieLine:
    """A place, and the difference of the team above to it; None for the first."""

    place: Place
    difference: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class SplitTies:
    """A board with its ties. Stale where other entries stand on it now, or another version is live."""

    split: Split
    lines: Sequence[TieLine]
    is_stale: bool


def request(session: Session, *, competition: Competition, actor: Actor, now: datetime) -> OrganizerJob:
    """Have the teams of both boards compared, each with the one directly above."""
    version = competitions.live(competition)
    job = organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.TIES,
        parameters={"scoring_version_id": version.id},
        created_by=actor.user,
        now=now,
    )
    audit.record(
        session,
        competition=competition,
        actor=actor,
        action="ties.start",
        subject=f"scoring version {version.number}",
        now=now,
    )
    return job


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest job that compared the teams."""
    return next(
        iter(organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.TIES)), None
    )


def places(session: Session, *, scoring_version_id: int, split: Split) -> list[Place]:
    """Return the first entries of a board, the best first; the private one has none before it is settled."""
    rows = session.execute(
        select(Team.id, Team.name, Submission.id, Submission.sha256)
        .select_from(Standing)
        .join(Team, Team.id == Standing.team_id)
        .join(Submission, Submission.id == Standing.submission_id)
        .where(Standing.scoring_version_id == scoring_version_id, Standing.split == split)
        .order_by(Standing.score_units.desc(), Standing.submitted_at, Standing.submission_id)
        .limit(MAX_TEAMS)
    )
    return [Place(rank, *row) for rank, row in enumerate(rows, start=1)]


def found(session: Session, *, competition: Competition, job: OrganizerJob | None) -> list[SplitTies]:
    """Return what a job has found, with the names of now; nothing where it has not ended well."""
    if job is None or job.state is not JobState.DONE:
        return []
    version_id = job.parameters["scoring_version_id"]
    return [
        _split_ties(session, competition, version_id, Split(split), lines)
        for split, lines in job.result["splits"].items()
    ]


def _split_ties(
    session: Session, competition: Competition, version_id: int, split: Split, lines: list[dict[str, Any]]
) -> SplitTies:
    compared = [line["submission_id"] for line in lines]
    now = places(session, scoring_version_id=competitions.live(competition).id, split=split)
    is_stale = (
        version_id != competition.live_scoring_version_id
        or [place.submission_id for place in now] != compared
    )
    known = session.execute(
        select(Submission.id, Team.id, Team.name, Submission.sha256)
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.id.in_(compared))
    )
    by_id = {row[0]: row for row in known}
    told = []
    for rank, line in enumerate(lines, start=1):
        submission_id, team_id, team, sha256 = by_id[line["submission_id"]]
        told.append(TieLine(Place(rank, team_id, team, submission_id, sha256), line["difference"]))
    return SplitTies(split, told, is_stale)
