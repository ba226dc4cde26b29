"""The leaderboards: the standings of the live scoring version, page by page, ranked when they are read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session

from grader.errors import ParticipantError
from grader.leaderboard import standings
from grader.leaderboard.standings import Entry
from grader.leaderboard.visibility import Field, Phase, Viewer, visible
from grader.models import Competition, Score, Split, Standing, Submission, SubmissionStatus, Team
from grader.services import competitions
from grader.services.standing_rows import to_entry

PAGE_SIZE = 50
TERMS = ("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")


class NotRevealed(ParticipantError):
    """The private leaderboard is not public yet."""

    def __init__(self) -> None:
        super().__init__("The private leaderboard is shown after the organizer has revealed it.")


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One line of a leaderboard; all values are rounded as displayed.

    `rank_change` is, on a private leaderboard, by how many places the team rose against the public one.
    """

    rank: int
    team_id: int
    team: str
    submission_id: int
    score: str
    score_units: int
    terms: Mapping[str, float]
    entry_count: int
    last_submitted_at: datetime
    rank_change: int | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """One page of a leaderboard and what it is computed on."""

    split: Split
    rows: tuple[BoardRow, ...]
    page: int
    page_count: int
    team_count: int
    scoring_version: int
    row_share: float


def public_board(
    session: Session, *, competition: Competition, page: int = 1, page_size: int = PAGE_SIZE
) -> Board:
    """Return a page of the public leaderboard; a page past the end is the last one."""
    return _board(session, competition, Split.PUBLIC, page, page_size)


def private_board(
    session: Session,
    *,
    competition: Competition,
    phase: Phase,
    viewer: Viewer = Viewer.PUBLIC,
    page: int = 1,
    page_size: int = PAGE_SIZE,
) -> Board:
    """Return a page of the private leaderboard; raise NotRevealed before the reveal."""
    if phase is not Phase.REVEALED or not visible(Field.PRIVATE_SCORE, viewer, phase):
        raise NotRevealed
    return _board(session, competition, Split.PRIVATE, page, page_size)


def rank_of(session: Session, *, scoring_version_id: int, split: Split, entry: Entry) -> int:
    """Return the rank that `entry` has, or would have for its team, among the other teams' standings."""
    better = select(func.count()).where(
        Standing.scoring_version_id == scoring_version_id,
        Standing.split == split,
        Standing.team_id != entry.team_id,
        _before(entry),
    )
    return (session.scalar(better) or 0) + 1


def standing_of(session: Session, *, scoring_version_id: int, split: Split, team_id: int) -> Entry | None:
    """Return the entry that stands for a team, None if it has none."""
    row = session.scalar(
        select(Standing).where(
            Standing.scoring_version_id == scoring_version_id,
            Standing.split == split,
            Standing.team_id == team_id,
        )
    )
    return None if row is None else to_entry(row)


def count_teams(session: Session, *, scoring_version_id: int, split: Split) -> int:
    """Return how many teams a leaderboard has."""
    query = select(func.count()).where(
        Standing.scoring_version_id == scoring_version_id, Standing.split == split
    )
    return session.scalar(query) or 0


def rounded_terms(score: Score) -> dict[str, float]:
    """Return the four terms of a score as displayed."""
    return {term: standings.rounded_term(getattr(score, term)) for term in TERMS}


def _board(session: Session, competition: Competition, split: Split, page: int, page_size: int) -> Board:
    version = competitions.live(competition)
    lines = select(Standing).where(Standing.scoring_version_id == version.id, Standing.split == split)
    team_count = count_teams(session, scoring_version_id=version.id, split=split)
    page_count = max(1, -(-team_count // page_size))
    page = min(max(1, page), page_count)
    first = (page - 1) * page_size
    rows = session.scalars(lines.order_by(*_ORDER).limit(page_size).offset(first)).all()
    ranked = standings.rank((to_entry(row) for row in rows), first_rank=first + 1)
    solution = version.solution
    split_rows = solution.public_row_count if split is Split.PUBLIC else solution.private_row_count
    return Board(
        split=split,
        rows=tuple(_rows(session, version.id, split, ranked)),
        page=page,
        page_count=page_count,
        team_count=team_count,
        scoring_version=version.number,
        row_share=split_rows / (solution.public_row_count + solution.private_row_count),
    )


def _rows(
    session: Session, version_id: int, split: Split, ranked: list[standings.Standing]
) -> Iterable[BoardRow]:
    team_ids = [line.entry.team_id for line in ranked]
    names = dict(session.execute(select(Team.id, Team.name).where(Team.id.in_(team_ids))).all())
    activity = _activity(session, team_ids)
    scores = _scores(session, version_id, split, [line.entry.submission_id for line in ranked])
    before = _public_ranks(session, version_id, team_ids) if split is Split.PRIVATE else {}
    for line in ranked:
        entry = line.entry
        entry_count, last_submitted_at = activity[entry.team_id]
        yield BoardRow(
            rank=line.rank,
            team_id=entry.team_id,
            team=names[entry.team_id],
            submission_id=entry.submission_id,
            score=standings.score_text(entry.score_units),
            score_units=entry.score_units,
            terms=rounded_terms(scores[entry.submission_id]),
            entry_count=entry_count,
            last_submitted_at=last_submitted_at,
            rank_change=before[entry.team_id] - line.rank if entry.team_id in before else None,
        )


def _activity(session: Session, team_ids: list[int]) -> dict[int, tuple[int, datetime]]:
    query = (
        select(Submission.team_id, func.count(), func.max(Submission.submitted_at))
        .where(Submission.team_id.in_(team_ids), Submission.status == SubmissionStatus.SCORED)
        .group_by(Submission.team_id)
    )
    return {team_id: (count, last) for team_id, count, last in session.execute(query)}


def _scores(session: Session, version_id: int, split: Split, submission_ids: list[int]) -> dict[int, Score]:
    query = select(Score).where(
        Score.scoring_version_id == version_id,
        Score.split == split,
        Score.submission_id.in_(submission_ids),
    )
    return {score.submission_id: score for score in session.scalars(query)}


def _public_ranks(session: Session, version_id: int, team_ids: list[int]) -> dict[int, int]:
    place = func.row_number().over(order_by=_ORDER).label("place")
    ranks = (
        select(Standing.team_id, place)
        .where(Standing.scoring_version_id == version_id, Standing.split == Split.PUBLIC)
        .subquery()
    )
    return dict(session.execute(select(ranks).where(ranks.c.team_id.in_(team_ids))).all())


# The order of standings.order, in SQL.
_ORDER = (Standing.score_units.desc(), Standing.submitted_at, Standing.submission_id)


def _before(entry: Entry) -> ColumnElement[bool]:
    return or_(
        Standing.score_units > entry.score_units,
        and_(
            Standing.score_units == entry.score_units,
            or_(
                Standing.submitted_at < entry.submitted_at,
                and_(
                    Standing.submitted_at == entry.submitted_at,
                    Standing.submission_id < entry.submission_id,
                ),
            ),
        ),
    )
