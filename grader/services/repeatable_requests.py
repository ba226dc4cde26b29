"""Idempotency keys: a repeated request takes effect only once."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import RepeatableRequest, User
from grader.services import counting

KEY_MAX_LENGTH = 128
KEPT = timedelta(days=1)
LONGEST = timedelta(minutes=5)  # A request without a status after this time is considered interrupted.


class InvalidKey(ParticipantError):
    """The Idempotency-Key is empty, too long or contains characters other than printable ASCII."""

    public_name = "invalid_key"
    message = f"The Idempotency-Key is invalid. Use 1 to {KEY_MAX_LENGTH} printable ASCII characters."


class KeyUsed(ParticipantError):
    """The Idempotency-Key was used for a different request."""

    public_name = "key_used"
    kind = ErrorKind.CONFLICT
    message = "This Idempotency-Key was already used for a different request. Use a new one."


class UnderWay(ParticipantError):
    """The first request with this key is still in progress."""

    public_name = "under_way"
    kind = ErrorKind.CONFLICT
    retry_after = timedelta(seconds=2)
    message = "The same request is still in progress. Repeat it in a few seconds to get its response."


class OutcomeUnknown(ParticipantError):
    """The first request with this key was interrupted."""

    public_name = "outcome_unknown"
    kind = ErrorKind.CONFLICT
    message = (
        "The first request was interrupted and may have taken effect. Check whether it did. If not, repeat "
        "the request with a new Idempotency-Key."
    )


class AnswerNotKept(ParticipantError):
    """The response to the first request contained a secret and was not stored."""

    public_name = "answer_not_kept"
    kind = ErrorKind.CONFLICT
    message = (
        "The first request with this key took effect. Its response contained a secret, which is shown only "
        "once."
    )


@dataclass(frozen=True, slots=True)
class Repeated:
    """The response to the first request."""

    status: int
    answer: str


def begin(
    session: Session, *, user: User, key: str, fingerprint: str, now: datetime
) -> Repeated | RepeatableRequest:
    """Record the start of a request, or return the response to an earlier request with this key.

    Raise InvalidKey, KeyUsed, UnderWay, OutcomeUnknown or AnswerNotKept.
    """
    if not (0 < len(key) <= KEY_MAX_LENGTH and key.isascii() and key.isprintable()):
        raise InvalidKey
    counting.hold_lock(session, f"request {user.id} {key}")
    query = select(RepeatableRequest).where(
        RepeatableRequest.user_id == user.id, RepeatableRequest.key == key
    )
    earlier = session.scalar(query)
    if earlier is not None and earlier.at <= now - KEPT:
        session.delete(earlier)
        session.flush()
    elif earlier is not None:
        if earlier.fingerprint != fingerprint:
            raise KeyUsed
        if earlier.status is not None and earlier.answer is None:
            raise AnswerNotKept
        if earlier.status is not None:
            return Repeated(earlier.status, earlier.answer or "")
        raise OutcomeUnknown if earlier.at <= now - LONGEST else UnderWay
    request = RepeatableRequest(user_id=user.id, key=key, fingerprint=fingerprint, at=now)
    session.add(request)
    session.flush()
    return request


def finish(session: Session, *, request_id: int, status: int, answer: str | None) -> None:
    """Store the response for repeated requests; `answer` is None if it contains a secret."""
    request = session.get(RepeatableRequest, request_id)
    if request is not None:
        request.status, request.answer = status, answer
        session.flush()


def release(session: Session, *, request_id: int) -> None:
    """Delete the record of a rejected request so that its key can be used again."""
    session.execute(delete(RepeatableRequest).where(RepeatableRequest.id == request_id))


def is_old(now: datetime) -> ColumnElement[bool]:
    """Return the condition for expired requests."""
    return RepeatableRequest.at <= now - KEPT
