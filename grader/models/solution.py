"""Table of solutions: the secret file's digest, commitment and stored files."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from grader.db import Base


class Solution(Base):
    """One version of a competition's solution.

    The web reads `row_ids_sha256` and nothing else; labels, identities and splits lie in `prepared_sha256`,
    which only workers and organizers' commands open. `report` holds the counts shown at its upload. `digest`
    is the sha256 of its content in one canonical form, whatever file it came in. It is as hidden as the
    content: labels from elsewhere could be confirmed by it. `commitment` is the sha256 of `nonce`, 32 random
    bytes in hexadecimal, followed by that form. Everybody may see it; the nonce is public with the solution.
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
    report: Mapped[dict[str, Any]]
    uploaded_at: Mapped[datetime]
