"""Final standings: numbered copies of the private ranks."""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.metrics.boards import BoardRule
from grader.models import (
    MAIN_BOARD,
    STANDING_ORDER,
    Competition,
    FinalBoard,
    FinalStanding,
    ScoringVersion,
    Split,
    Standing,
    Submission,
    Team,
)
from grader.ranking.order import Scale
from grader.services.competitions import boards, entry_fields, lookup, team_names
from grader.services.competitions.entry_fields import Detail
from grader.services.paging import PAGE_SIZE, Page, page_of_query
from grader.services.standings.ranks import Standings


class UnknownFinalBoard(ParticipantError):
    """The competition has no final standings with this number."""

    public_name = "unknown_final_board"
    kind = ErrorKind.NOT_FOUND
    message = "There are no final standings with the number {number}."


@dataclass(frozen=True, slots=True)
class FinalRow:
    """One row of final standings, with the team name and the displayed values of that time."""

    rank: int
    team_id: int
    team: str
    score: str
    public_rank: int | None
    division: str | None
    details: tuple[Detail, ...] = ()

    @property
    def rank_change(self) -> int | None:
        """The number of ranks gained from the public leaderboard."""
        return None if self.public_rank is None else self.public_rank - self.rank


@dataclass(frozen=True, slots=True)
class FinalPage(Page[FinalRow]):
    """One page of final standings, with the reason for them and their time.

    `rule` is that of a named leaderboard, or None for the main one; `rules` are those of all named ones.
    """

    rule: BoardRule | None
    rules: tuple[BoardRule, ...]
    number: int
    newest: int
    reason: str
    created_at: datetime
    scoring_version: int
    division: str | None
    divisions: tuple[str, ...]


def append(session: Session, *, competition: Competition, reason: str, now: datetime) -> FinalBoard:
    """Store the private standings of the live scoring version as the next final standings."""
    version = lookup.live(competition)
    board = FinalBoard(
        competition_id=competition.id,
        number=newest(session, competition=competition) + 1,
        scoring_version_id=version.id,
        reason=reason,
        boards=competition.boards,
        created_at=now,
    )
    session.add(board)
    session.flush()
    for key in (MAIN_BOARD, *(rule.key for rule in boards.of(competition, version))):
        _append(session, competition, board, key)
    session.flush()
    return board


def _append(session: Session, competition: Competition, board: FinalBoard, key: str) -> None:
    standings = Standings(session, board.scoring_version_id, Split.PRIVATE, key)
    public_ranks = replace(standings, split=Split.PUBLIC).ranks()
    lines = session.execute(
        select(
            Standing.team_id,
            team_names.column(competition),
            Standing.submission_id,
            Standing.score_units,
            Team.division,
            Submission.details,
        )
        .join(Team, Team.id == Standing.team_id)
        .join(Submission, Submission.id == Standing.submission_id)
        .where(*standings.rows)
        .order_by(*STANDING_ORDER)
    )
    session.add_all(
        FinalStanding(
            board_id=board.id,
            board_key=key,
            rank=rank,
            public_rank=public_ranks.get(team_id),
            team_id=team_id,
            team_name=name,
            submission_id=submission_id,
            score_units=units,
            division=division,
            details=details,
        )
        for rank, (team_id, name, submission_id, units, division, details) in enumerate(lines, 1)
    )


def append_if_final(session: Session, *, competition: Competition, reason: str, now: datetime) -> None:
    """If the standings are final, append new final standings, so that every change is documented."""
    if competition.finalized_at is not None:
        append(session, competition=competition, reason=reason, now=now)


def newest(session: Session, *, competition: Competition) -> int:
    """Return the number of the newest final standings, or 0 if there are none."""
    query = select(func.max(FinalBoard.number)).where(FinalBoard.competition_id == competition.id)
    return session.scalar(query) or 0


def newest_board(session: Session, *, competition: Competition) -> FinalBoard | None:
    """Return the newest final standings, or None."""
    boards = select(FinalBoard).where(FinalBoard.competition_id == competition.id)
    return session.scalar(boards.order_by(FinalBoard.number.desc()).limit(1))


def page_of(
    session: Session,
    *,
    competition: Competition,
    number: int,
    key: str = MAIN_BOARD,
    page: int = 1,
    page_size: int = PAGE_SIZE,
    division: str | None = None,
) -> FinalPage:
    """Return a page of final standings, or of a division with its own ranks; it is empty past the end.

    Raises UnknownFinalBoard, UnknownDivision, or UnknownBoard if there was no leaderboard with this key.
    """
    found = session.execute(
        select(FinalBoard, ScoringVersion)
        .join(ScoringVersion, ScoringVersion.id == FinalBoard.scoring_version_id)
        .where(FinalBoard.competition_id == competition.id, FinalBoard.number == number)
    ).one_or_none()
    if found is None:
        raise UnknownFinalBoard(number=number)
    board, version = found
    named = boards.rules(board.boards, version)
    rule = boards.find(named, key)
    scale = version.scale if rule is None else boards.scale(rule)
    query = rows_of(board, key)
    divisions: tuple[str, ...] = ()
    if competition.divisions or division is not None:
        known = query.with_only_columns(FinalStanding.division).where(FinalStanding.division.is_not(None))
        divisions = tuple(sorted(session.scalars(known.order_by(None).distinct())))
    public: dict[int, int] = {}
    if division is not None:
        lookup.require_division(division, divisions)
        query = query.where(FinalStanding.division == division)
        place = func.row_number().over(order_by=FinalStanding.public_rank)
        ranked = query.with_only_columns(FinalStanding.team_id, place)
        public = dict(session.execute(ranked.where(FinalStanding.public_rank.is_not(None))).all())
    lines = page_of_query(session, query, page=page, page_size=page_size)
    fields = team_names.shown_fields(competition)
    rows = tuple(_row(line, scale, fields) for line in lines.rows)
    if division is not None:
        first = (lines.page - 1) * page_size + 1
        rows = tuple(
            replace(row, rank=rank, public_rank=public.get(row.team_id))
            for rank, row in enumerate(rows, first)
        )
    return FinalPage(
        rows=rows,
        page=lines.page,
        page_count=lines.page_count,
        count=lines.count,
        rule=rule,
        rules=named,
        number=number,
        newest=newest(session, competition=competition),
        reason=board.reason,
        created_at=board.created_at,
        scoring_version=version.number,
        division=division,
        divisions=divisions,
    )


def rows_of(board: FinalBoard, key: str = MAIN_BOARD) -> Select[FinalStanding]:
    """Return the query for the rows of one leaderboard in final standings, best first."""
    mine = FinalStanding.board_id == board.id, FinalStanding.board_key == key
    return select(FinalStanding).where(*mine).order_by(FinalStanding.rank)


def _row(line: FinalStanding, scale: Scale, fields: str) -> FinalRow:
    score, details = scale.text(line.score_units), entry_fields.shown(fields, line.details)
    return FinalRow(line.rank, line.team_id, line.team_name, score, line.public_rank, line.division, details)
