"""Paired differences: changes from a team's previous best, and leaderboard neighbors within chance.

A background job compares the newest files of a competition on the same rows and stores the differences. Pages
show only the difference of the displayed scores, and a standard error without more decimals. Whether a
difference is clear follows from these two numbers, so it reveals nothing in addition.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from sqlalchemy import and_, delete, func, or_, select
from sqlalchemy.orm import Session, aliased

from grader import db
from grader.metrics.interface import PairedDifference
from grader.models import (
    STANDING_ORDER,
    Competition,
    CompetitionState,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Score,
    ScoringVersion,
    Split,
    Standing,
    StoredDifference,
    Submission,
    on_board,
)
from grader.ranking.order import Scale, TeamEntry, error_text, order
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.jobs import organizer_jobs
from grader.services.jobs.leased_rows import OPEN_STATES
from grader.services.leaderboards.snapshots import Snapshot
from grader.services.leaderboards.tied_teams import (
    FAILED_AGAIN_AFTER,
    MAX_TEAMS,
    TiesParameters,
    decided_after,
    places,
    why_not,
)
from grader.services.standings.shown_scores import KINDS
from grader.visibility import Field

NEWEST = 2000  # compared files of a scoring version
FIELDS = {Split.PUBLIC: Field.PUBLIC_DIFFERENCES, Split.PRIVATE: Field.PRIVATE_DIFFERENCES}
_IS_PAIRS = OrganizerJob.kind == OrganizerJobKind.PAIRS


class Pair(NamedTuple):
    """Two submissions to compare; a team's first submission is its own baseline."""

    split: Split
    submission_id: int
    baseline_id: int


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The displayed difference from a baseline of the same team; it is clear above two standard errors."""

    baseline_id: int
    value: str
    standard_error: str
    is_clear: bool

    @property
    def verdict(self) -> str:
        """Whether chance can explain the difference."""
        return "more than chance explains" if self.is_clear else "within chance"


def _error_units(error: float, scale: Scale) -> int:
    """Return a standard error as displayed, at least 1; a smaller one would reveal labels of single rows."""
    return max(abs(scale.units(float(error_text(error)))), 1)


def _is_clear(units: int, error: float, scale: Scale) -> bool:
    return abs(units) > 2 * _error_units(error, scale)


def due(session: Session, *, now: datetime) -> list[Competition]:
    """Return the competitions to compare: new files, another version, or a decision of the organizers.

    A failed job is repeated after a day.
    """
    job = aliased(OrganizerJob)
    own = select(job.id).where(job.competition_id == Competition.id, job.kind == OrganizerJobKind.PAIRS)
    is_live = job.parameters["scoring_version_id"].as_integer() == Competition.live_scoring_version_id
    failed = and_(job.state == JobState.FAILED, is_live, job.finished_at > now - FAILED_AGAIN_AFTER)
    stored = select(StoredDifference.id).where(
        StoredDifference.submission_id == Score.submission_id,
        StoredDifference.scoring_version_id == Score.scoring_version_id,
        StoredDifference.split == Split.PUBLIC,
    )
    has_new = (
        select(Score.scoring_version_id)
        .join(Submission, Submission.id == Score.submission_id)
        .where(
            Score.id > select(func.max(Score.id)).scalar_subquery() - NEWEST,
            Score.split == Split.PUBLIC,
            Submission.kind.in_(KINDS),
            ~stored.exists(),
        )
    )
    query = select(Competition).where(
        Competition.state == CompetitionState.PUBLISHED,
        Competition.live_scoring_version_id.is_not(None),
        ~own.where(or_(job.state.in_(OPEN_STATES), failed)).exists(),
        ~own.where(is_live, job.state == JobState.DONE, ~decided_after(job)).exists()
        | Competition.live_scoring_version_id.in_(has_new),
    )
    return [each for each in session.scalars(query) if not why_not(each)]


def request(
    session: Session, *, competition: Competition, actor: Actor | None, now: datetime
) -> OrganizerJob:
    """Add a job that computes the missing differences, in place of the earlier ones."""
    session.execute(delete(OrganizerJob).where(OrganizerJob.competition_id == competition.id, _IS_PAIRS))
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.PAIRS,
        parameters=TiesParameters(scoring_version_id=lookup.live(competition).id).as_dict(),
        created_by=actor.user if actor else None,
        now=now,
    )


def missing(session: Session, *, version: ScoringVersion) -> list[Pair]:
    """Return the pairs without a stored difference: leaderboard neighbors, then the newest files."""
    columns = StoredDifference.split, StoredDifference.submission_id, StoredDifference.baseline_id
    rows = session.execute(select(*columns).where(StoredDifference.scoring_version_id == version.id))
    stored = {Pair(*row) for row in rows}
    neighbors = [
        Pair(split, above.submission_id, below.submission_id)
        for split in Split
        for above, below in pairwise(places(session, scoring_version_id=version.id, split=split))
    ]
    files = [Pair(split, *pair) for pair in _previous_best(session, version) for split in Split]
    return [pair for pair in dict.fromkeys([*neighbors, *files]) if pair not in stored]


def _previous_best(session: Session, version: ScoringVersion) -> list[tuple[int, int]]:
    """Return the newest files, the newest first, each with the team's best earlier file or itself."""
    rows = session.execute(
        select(Score.id, Submission.id, Submission.team_id, Submission.submitted_at, Score.score)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.competition_id == version.competition_id,
            Submission.kind.in_(KINDS),
            Score.scoring_version_id == version.id,
            Score.split == Split.PUBLIC,
        )
        .order_by(Submission.submitted_at, Submission.id)
    ).all()
    newest = {row[0] for row in sorted(rows, reverse=True)[:NEWEST]}
    best, pairs = dict[int, TeamEntry](), list[tuple[int, int]]()
    for score_id, submission_id, team_id, submitted_at, score in rows:
        entry = TeamEntry(team_id, submission_id, version.scale.units(score), submitted_at)
        before = best.setdefault(team_id, entry)
        if score_id in newest:
            pairs.append((submission_id, before.submission_id))
        best[team_id] = min(before, entry, key=order)
    return pairs[::-1]


def record(
    session: Session,
    *,
    scoring_version_id: int,
    differences: Sequence[tuple[Pair, PairedDifference | None]],
) -> None:
    """Store differences that are not yet stored; None if one could not be computed."""
    values = [
        {
            **pair._asdict(),
            "scoring_version_id": scoring_version_id,
            "value": difference and difference.value,
            "standard_error": difference and difference.standard_error,
        }
        for pair, difference in differences
    ]
    db.insert_new(session, StoredDifference, values)


def of_pair(
    session: Session,
    ids: Collection[int],
    *,
    version: ScoringVersion,
    allowed: Collection[Field],
    split: Split = Split.PUBLIC,
) -> ChangeResult | None:
    """Return the change from the earlier to the later submission of a team; None if hidden or not stored."""
    if FIELDS[split] not in allowed:
        return None
    later, earlier = aliased(Submission), aliased(Submission)
    mine, theirs = aliased(Score), aliased(Score)
    query = (
        select(earlier.id, theirs.score, mine.score, StoredDifference.standard_error)
        .join(later, later.id == StoredDifference.submission_id)
        .join(earlier, earlier.id == StoredDifference.baseline_id)
        .join(mine, mine.submission_id == later.id)
        .join(theirs, theirs.submission_id == earlier.id)
        .where(
            StoredDifference.standard_error.is_not(None),
            # Neighbors on a leaderboard may belong to one team after a merger.
            later.team_id == earlier.team_id,
            later.submitted_at >= earlier.submitted_at,
            later.id.in_(ids),
            earlier.id.in_(ids),
            *(each.scoring_version_id == version.id for each in (StoredDifference, mine, theirs)),
            *(each.split == split for each in (StoredDifference, mine, theirs)),
        )
    )
    row = session.execute(query).first()
    if row is None:
        return None
    baseline_id, before, after, stored_error = row
    scale, error = version.scale, stored_error or 0.0
    units, shown = scale.units(after) - scale.units(before), _error_units(error, scale)
    # A text of `error_text` has two digits at most, which below ten units would be too many decimals.
    text = error_text(error) if shown >= 10 else scale.size_text(shown)
    return ChangeResult(baseline_id, scale.signed_text(units), text, _is_clear(units, error, scale))


def tied_with_above(
    session: Session, *, competition: Competition, allowed: Collection[Field], snapshot: Snapshot
) -> frozenset[int]:
    """Return the teams whose public score is within chance of that of the team directly above.

    Empty if hidden, for scores displayed as bands, and after the reveal, which has marks on final ranks.
    """
    version = competition.live_scoring_version
    if version is None or competition.revealed_at or competition.feedback.is_coarse:
        return frozenset()
    if Field.PUBLIC_DIFFERENCES not in allowed:
        return frozenset()
    return snapshot.page("tied", lambda: _tied_with_above(session, version))


def _tied_with_above(session: Session, version: ScoringVersion) -> frozenset[int]:
    entry, stored = Standing, StoredDifference
    below = (entry.team_id, entry.submission_id, entry.score_units)
    pairs = (
        select(
            entry.submission_id.label("above_id"),
            entry.score_units.label("above_units"),
            *(func.lead(column).over(order_by=STANDING_ORDER).label(column.key) for column in below),
        )
        .where(*on_board(version.id, Split.PUBLIC))
        .order_by(*STANDING_ORDER)
        .limit(MAX_TEAMS)
        .subquery()
    )
    is_theirs = and_(
        stored.submission_id == pairs.c.above_id,
        stored.baseline_id == pairs.c.submission_id,
        stored.scoring_version_id == version.id,
        stored.split == Split.PUBLIC,
        stored.standard_error.is_not(None),
    )
    difference = pairs.c.above_units - pairs.c.score_units
    query = select(pairs.c.team_id, difference, stored.standard_error).join(stored, is_theirs)
    return frozenset(
        team_id
        for team_id, units, error in session.execute(query)
        if not _is_clear(units, error, version.scale)
    )
