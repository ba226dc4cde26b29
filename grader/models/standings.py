"""Table for standings, the rows of leaderboards."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    UniqueConstraint,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute, Mapped, aliased, mapped_column, relationship

from grader.db import Base, stored_enum
from grader.models.scoring import Split
from grader.models.submissions import Submission
from grader.models.teams import Team
from grader.ranking.order import COLUMNS, Column

MAIN_BOARD = ""


class Standing(Base):
    """A team's entry on a leaderboard.

    The rank is not stored; each request computes it. Named leaderboards have keys; the key of the main one,
    which ranks by the score, is empty. `score_units` is the displayed value in units of the leaderboard's
    scale; more units are better.
    """

    __tablename__ = "standing"

    id: Mapped[int] = mapped_column(primary_key=True)
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    split: Mapped[Split] = mapped_column(stored_enum(Split, name="split"))
    board: Mapped[str] = mapped_column(String(40), default=MAIN_BOARD, server_default=MAIN_BOARD)
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    score_units: Mapped[int] = mapped_column(BigInteger().with_variant(Integer(), "sqlite"))
    submitted_at: Mapped[datetime]

    __table_args__ = (UniqueConstraint("scoring_version_id", "split", "board", "team_id"),)

    team: Mapped[Team] = relationship()
    submission: Mapped[Submission] = relationship()


def _directed(column: Column) -> ColumnElement[Any]:
    stored: InstrumentedAttribute[Any] = getattr(Standing, column.name)
    return stored.desc() if column.is_highest_first else stored.expression


STANDING_ORDER = tuple(_directed(column) for column in COLUMNS)
# With this index, a page of a leaderboard reads only its own rows.
Index("ix_standing_board", Standing.scoring_version_id, Standing.split, Standing.board, *STANDING_ORDER)


def on_board(
    scoring_version_id: int,
    *splits: Split,
    board: str = MAIN_BOARD,
    division: str | None = None,
) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for the rows of one leaderboard, by default the main one with all divisions."""
    rows: tuple[ColumnElement[bool], ...] = (
        Standing.scoring_version_id == scoring_version_id,
        Standing.split == splits[0] if len(splits) == 1 else Standing.split.in_(splits),
        Standing.board == board,
    )
    if division is None:
        return rows
    team = aliased(Team)
    is_inside = select(team.id).where(team.id == Standing.team_id, team.division == division)
    return *rows, is_inside.correlate(Standing).exists()


class ContentState(Base):
    """The token of the present content of leaderboards: one row, replaced by `grader.db`."""

    __tablename__ = "content_state"

    id: Mapped[int] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(String(32))
