"""Repeated uploads: same idempotency key, or same file from the same team."""

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import Submission, SubmissionStatus, Team

KEY_MAX_LENGTH = 128

_KEY = re.compile(rf"[\x20-\x7e]{{1,{KEY_MAX_LENGTH}}}")


class InvalidIdempotencyKey(ParticipantError):
    """The `Idempotency-Key` is malformed."""

    public_name = "invalid_idempotency_key"
    message = (
        f"The Idempotency-Key is invalid. Use 1 to {KEY_MAX_LENGTH} printable ASCII characters, "
        "such as a UUID."
    )


class IdempotencyKeyReused(ParticipantError):
    """The `Idempotency-Key` belongs to an earlier submission with different bytes."""

    public_name = "idempotency_key_reused"
    kind = ErrorKind.MISMATCH
    message = (
        "This Idempotency-Key belongs to submission #{submission_id}, which has a different file. "
        "This request does not count as a submission. Send a new file with a new key."
    )
    submission_id: int

    @property
    def details(self) -> dict[str, Any]:
        return {"submission": self.submission_id}


class IdenticalFile(ParticipantError):
    """The team has submitted the same bytes before, and that submission is pending or scored."""

    public_name = "identical_file"
    kind = ErrorKind.CONFLICT

    def __init__(self, earlier: Submission) -> None:
        waits = " That submission is not scored yet." if earlier.status is SubmissionStatus.PENDING else ""
        sent = f"{earlier.submitted_at:%Y-%m-%d %H:%M} UTC"
        super().__init__(
            f"This file is identical to submission #{earlier.id} from {sent}. It does not count as a "
            f"submission.{waits}"
        )
        self.submission_id = earlier.id

    @property
    def details(self) -> dict[str, Any]:
        return {"submission": self.submission_id}


@dataclass(frozen=True, slots=True)
class SentFile:
    """The file of a request; `again` accepts bytes that the team has submitted before."""

    sha256: str
    again: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Earlier submissions: the one with the same key, and the newest with the same bytes."""

    of_key: Submission | None = None
    of_bytes: Submission | None = None


NOTHING_EARLIER = Repeats()


def find(session: Session, *, team: Team | None, file: SentFile) -> Repeats:
    """Return the earlier submissions of a team that a file may repeat.

    Only pending and scored submissions count as identical; a rejected or failed file may be sent again.
    """
    if team is None:
        return NOTHING_EARLIER
    newest = (
        select(Submission.id)
        .where(
            Submission.team_id == team.id,
            Submission.sha256 == file.sha256,
            Submission.status.in_((SubmissionStatus.PENDING, SubmissionStatus.SCORED)),
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
        .limit(1)
        .scalar_subquery()
    )
    wanted: ColumnElement[bool] = Submission.id == newest
    key = file.idempotency_key if _is_key(file.idempotency_key) else None
    if key is not None:
        wanted |= and_(Submission.team_id == team.id, Submission.idempotency_key == key)
    earlier = session.scalars(select(Submission).where(wanted)).all()
    return Repeats(
        of_key=next((each for each in earlier if key is not None and each.idempotency_key == key), None),
        # If this is also the submission with the same key, the request repeats it and `of_bytes` is not used.
        of_bytes=next((each for each in earlier if each.sha256 == file.sha256), None),
    )


def refusal_of_key(file: SentFile, earlier: Repeats) -> InvalidIdempotencyKey | IdempotencyKeyReused | None:
    """Return the error about a file's idempotency key, or None if the key is valid."""
    if file.idempotency_key is not None and not _is_key(file.idempotency_key):
        return InvalidIdempotencyKey()
    if earlier.of_key is not None and earlier.of_key.sha256 != file.sha256:
        return IdempotencyKeyReused(submission_id=earlier.of_key.id)
    return None


def refusal_of_bytes(file: SentFile, earlier: Repeats) -> IdenticalFile | None:
    """Return the error about bytes that the team has submitted before, or None if they are accepted."""
    if file.again or earlier.of_bytes is None:
        return None
    return IdenticalFile(earlier.of_bytes)


def _is_key(text: str | None) -> bool:
    return text is not None and _KEY.fullmatch(text) is not None
