"""Tables of final standings: a numbered copy of the private ranks, kept after later rescorings."""

from datetime import datetime

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base


class FinalBoard(Base):
    """The final standings of a competition, number 1 and, after each later publish, the next number."""

    __tablename__ = "final_board"
    __table_args__ = (UniqueConstraint("competition_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    number: Mapped[int]
    scoring_version_id: Mapped[int] = mapped_column(ForeignKey("scoring_version.id"))
    reason: Mapped[str] = mapped_column(Text)
    created_at: Mapped[datetime]

    lines: Mapped[list["FinalStanding"]] = relationship(back_populates="board")


class FinalStanding(Base):
    """One line of a final board, with the names and displayed values of that moment."""

    __tablename__ = "final_standing"
    __table_args__ = (UniqueConstraint("board_id", "rank"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    board_id: Mapped[int] = mapped_column(ForeignKey("final_board.id"))
    rank: Mapped[int]
    public_rank: Mapped[int | None]
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    team_name: Mapped[str] = mapped_column(String(256))
    submission_id: Mapped[int] = mapped_column(ForeignKey("submission.id"))
    score_units: Mapped[int]

    board: Mapped[FinalBoard] = relationship(back_populates="lines")
