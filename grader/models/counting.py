"""Table of rate-limit counters: one row for each counted act."""

from datetime import datetime

from sqlalchemy import BigInteger, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


class Tally(Base):
    """One time that something was done. `kind` says what, and `whose` for whom it counts; kept for a day."""

    __tablename__ = "tally"
    __table_args__ = (Index(None, "kind", "whose", "at"),)

    id: Mapped[int] = mapped_column(BigInteger().with_variant(Integer, "sqlite"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    whose: Mapped[str] = mapped_column(String(64))
    at: Mapped[datetime] = mapped_column(index=True)
