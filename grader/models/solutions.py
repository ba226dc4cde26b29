"""Tables of secret solutions and of the scoring versions that use them."""

import enum
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from grader.db import Base, stored_enum


class Solution(Base):
    """One version of a competition's solution.

    The web reads `row_ids_sha256` and nothing else; labels, identities and splits lie in `prepared_sha256`,
    which only workers and organizers' commands open. `report` holds the counts shown at its upload. `digest`
    is the sha256 of its content in one canonical form, whatever file it came in. It is as hidden as the
    content: labels from elsewhere could be confirmed by it. `commitment` is the sha256 of `nonce`, 32 random
    bytes in hexadecimal, followed by that form. Everybody may see it; the nonce is public with the solution.
    `canaries` lists its canary rows: here, and not in the storage, so that a leak of the content does not.
    """

    __tablename__ = "solution"
    __table_args__ = (UniqueConstraint("competition_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    number: Mapped[int]
    row_ids_sha256: Mapped[str] = mapped_column(String(64))
    prepared_sha256: Mapped[str] = mapped_column(String(64))
    sample_submission_sha256: Mapped[str] = mapped_column(String(64))
    row_count: Mapped[int]
    public_row_count: Mapped[int]
    private_row_count: Mapped[int]
    digest: Mapped[str | None] = mapped_column(String(64))
    nonce: Mapped[str | None] = mapped_column(String(64))
    commitment: Mapped[str | None] = mapped_column(String(64))
    canaries: Mapped[str | None] = mapped_column(Text)
    report: Mapped[dict[str, Any]]
    uploaded_at: Mapped[datetime]


class ScoringVersionState(enum.StrEnum):
    """`preparing` is scored beside the live one; publishing makes it `live` and the other `retired`."""

    PREPARING = "preparing"
    LIVE = "live"
    RETIRED = "retired"
    DROPPED = "dropped"


class ScoringVersion(Base):
    """One way of scoring all submissions of a competition.

    `notice` is what teams read when it was published last, and `replaced_number` the version that was live
    until then: the one that they compare their scores with.
    """

    __tablename__ = "scoring_version"
    __table_args__ = (UniqueConstraint("competition_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    competition_id: Mapped[int] = mapped_column(ForeignKey("competition.id"))
    number: Mapped[int]
    solution_id: Mapped[int] = mapped_column(ForeignKey("solution.id"))
    metric_settings: Mapped[dict[str, Any]]
    metric_code_version: Mapped[str] = mapped_column(String(32))
    reason: Mapped[str] = mapped_column(Text)
    state: Mapped[ScoringVersionState] = mapped_column(stored_enum(ScoringVersionState, name="state"))
    created_by: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime]
    published_at: Mapped[datetime | None]
    notice: Mapped[str] = mapped_column(Text, default="", server_default="")
    replaced_number: Mapped[int | None]

    solution: Mapped[Solution] = relationship()
