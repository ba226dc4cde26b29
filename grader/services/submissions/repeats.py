"""Idempotency keys and duplicate files."""

import re
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import Submission, SubmissionStatus, Team

KEY_MAX_LENGTH = 128

_KEY = re.compile(rf"[\x20-\x7e]{{1,{KEY_MAX_LENGTH}}}")


class InvalidIdempotencyKey(ParticipantError):
    """An `Idempotency-Key` that cannot be kept."""

    public_name = "invalid_idempotency_key"

    def __init__(self) -> None:
        super().__init__(
            f"An Idempotency-Key has 1 to {KEY_MAX_LENGTH} printable ASCII characters, such as a UUID."
        )


class IdempotencyKeyReused(ParticipantError):
    """An `Idempotency-Key` of an earlier submission came with other bytes."""

    public_name = "idempotency_key_reused"
    kind = ErrorKind.MISMATCH

    def __init__(self, submission_id: int) -> None:
        super().__init__(
            f"This Idempotency-Key belongs to submission #{submission_id}, whose file has other bytes. "
            "No submission used; send a new file with a new key."
        )
        self.submission_id = submission_id

    @property
    def details(self) -> dict[str, Any]:
        return {"submission": self.submission_id}


class IdenticalFile(ParticipantError):
    """The team has sent the same bytes before, and they wait or have a score."""

    public_name = "identical_file"
    kind = ErrorKind.CONFLICT

    def __init__(self, earlier: Submission, now: datetime) -> None:
        day = "" if earlier.submitted_at.date() == now.date() else f"{earlier.submitted_at:%Y-%m-%d} "
        waits = " It is not scored yet." if earlier.status is SubmissionStatus.PENDING else ""
        super().__init__(
            f"Identical to #{earlier.id} of {day}{earlier.submitted_at:%H:%M}, no submission used.{waits}"
        )
        self.submission_id = earlier.id

    @property
    def details(self) -> dict[str, Any]:
        return {"submission": self.submission_id}


def find(session: Session, *, team: Team | None, idempotency_key: str, sha256: str) -> Submission | None:
    """Return the submission that a team's earlier request with this key made, None if there was none.

    Raises InvalidIdempotencyKey, and IdempotencyKeyReused if that submission has other bytes.
    """
    if not _KEY.fullmatch(idempotency_key):
        raise InvalidIdempotencyKey
    if team is None:
        return None
    earlier = session.scalar(
        select(Submission).where(Submission.team_id == team.id, Submission.idempotency_key == idempotency_key)
    )
    if earlier is not None and earlier.sha256 != sha256:
        raise IdempotencyKeyReused(earlier.id)
    return earlier


def refuse_identical(session: Session, *, team: Team, sha256: str, now: datetime) -> None:
    """Raise IdenticalFile if the team's same bytes wait or are scored; after a failure they are a new try."""
    earlier = session.scalar(
        select(Submission)
        .where(
            Submission.team_id == team.id,
            Submission.sha256 == sha256,
            Submission.status.in_((SubmissionStatus.PENDING, SubmissionStatus.SCORED)),
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
        .limit(1)
    )
    if earlier is not None:
        raise IdenticalFile(earlier, now)
