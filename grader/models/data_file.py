"""Table of data files that participants download, with the state of their leak check."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, String, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base, stored_enum


class DataCheckState(enum.StrEnum):
    """What is known of a file: nothing, for it was there before files were checked; that it waits for its
    check; that it gives nothing away; that it is held back; or that an organizer has allowed it."""

    UNCHECKED = "unchecked"
    WAITING = "waiting"
    PASSED = "passed"
    HELD = "held"
    ALLOWED = "allowed"


class DataFile(Base):
    """One file of a competition's data page, such as train.csv or test.csv.

    `check_key` names what was checked against what: the file's bytes and the solutions. `findings` is what
    came of it, with the `sha256` that was looked at; `allowed` is what an organizer typed, when, and what it
    covers.
    """

    __tablename__ = "data_file"
    __table_args__ = (UniqueConstraint("competition_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    name: Mapped[str] = mapped_column(String(255))
    description: Mapped[str] = mapped_column(Text, default="", server_default="")
    sha256: Mapped[str] = mapped_column(String(64))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    uploaded_at: Mapped[datetime]
    check_state: Mapped[DataCheckState] = mapped_column(
        stored_enum(DataCheckState, name="check_state"),
        default=DataCheckState.UNCHECKED,
        server_default="unchecked",
    )
    check_key: Mapped[str | None] = mapped_column(String(64))
    findings: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
    allowed: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default=text("'{}'"))
