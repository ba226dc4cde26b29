"""Repeated uploads: the same idempotency key, or a file that the team has sent before."""

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
    """An `Idempotency-Key` that cannot be kept."""

    public_name = "invalid_idempotency_key"
    message = f"An Idempotency-Key has 1 to {KEY_MAX_LENGTH} printable ASCII characters, such as a UUID."


class IdempotencyKeyReused(ParticipantError):
    """An `Idempotency-Key` of an earlier submission came with other bytes."""

    public_name = "idempotency_key_reused"
    kind = ErrorKind.MISMATCH
    message = (
        "This Idempotency-Key belongs to submission #{submission_id}, which has a different file. "
        "No submission used; send a new file with a new key."
    )
    submission_id: int

    @property
    def details(self) -> dict[str, Any]:
        return {"submission": self.submission_id}


class IdenticalFile(ParticipantError):
    """The team has sent the same bytes before, and they wait or have a score."""

    public_name = "identical_file"
    kind = ErrorKind.CONFLICT

    def __init__(self, earlier: Submission) -> None:
        waits = " It is not scored yet." if earlier.status is SubmissionStatus.PENDING else ""
        sent = f"{earlier.submitted_at:%Y-%m-%d %H:%M} UTC"
        super().__init__(f"Identical to #{earlier.id} of {sent}, no submission used.{waits}")
        self.submission_id = earlier.id

    @property
    def details(self) -> dict[str, Any]:
        return {"submission": self.submission_id}


@dataclass(frozen=True, slots=True)
class SentFile:
    """What a request says about its file; `again` takes bytes that the team has sent before."""

    sha256: str
    again: bool = False
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """A team's earlier submissions that a file may repeat: the one of its key, the newest of its bytes."""

    of_key: Submission | None = None
    of_bytes: Submission | None = None


NOTHING_EARLIER = Earlier()


def find(session: Session, *, team: Team | None, file: SentFile) -> Earlier:
    """Return the earlier submissions of a team that a file may repeat.

    Of its bytes one counts that waits or is scored; after a failure they are a new try.
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
    found = session.scalars(select(Submission).where(wanted)).all()
    return Earlier(
        of_key=next((each for each in found if key is not None and each.idempotency_key == key), None),
        # Where that of the key has these bytes, the request is a repeated one and its bytes do not matter.
        of_bytes=next((each for each in found if each.sha256 == file.sha256), None),
    )


def refusal_of_key(file: SentFile, earlier: Earlier) -> InvalidIdempotencyKey | IdempotencyKeyReused | None:
    """Return what is wrong with the key of a file, None if nothing is."""
    if file.idempotency_key is not None and not _is_key(file.idempotency_key):
        return InvalidIdempotencyKey()
    if earlier.of_key is not None and earlier.of_key.sha256 != file.sha256:
        return IdempotencyKeyReused(submission_id=earlier.of_key.id)
    return None


def refusal_of_bytes(file: SentFile, earlier: Earlier) -> IdenticalFile | None:
    """Return which earlier submission has the bytes of a file that may not come again."""
    if file.again or earlier.of_bytes is None:
        return None
    return IdenticalFile(earlier.of_bytes)


def _is_key(text: str | None) -> bool:
    return text is not None and _KEY.fullmatch(text) is not None
