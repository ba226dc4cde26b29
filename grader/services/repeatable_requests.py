"""Idempotency-Keys: a repeated request takes effect once."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, delete, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import RepeatableRequest, User
from grader.services import counting

KEY_MAX_LENGTH = 128
KEPT = timedelta(days=1)
LONGEST = timedelta(minutes=5)  # that a request is under way; after it, it was cut down


class InvalidKey(ParticipantError):
    """An Idempotency-Key that is empty or too long."""

    public_name = "invalid_key"
    message = f"An Idempotency-Key has 1 to {KEY_MAX_LENGTH} visible ASCII characters."


class KeyUsed(ParticipantError):
    """An Idempotency-Key of another request."""

    public_name = "key_used"
    kind = ErrorKind.CONFLICT
    message = "This Idempotency-Key was sent with another request before. Use a new one."


class UnderWay(ParticipantError):
    """A repeated request whose first one is still in progress."""

    public_name = "under_way"
    kind = ErrorKind.CONFLICT
    retry_after = timedelta(seconds=2)
    message = "The same request is under way. Send it again in a moment to get its answer."


class OutcomeUnknown(ParticipantError):
    """A repeated request whose first one was interrupted."""

    public_name = "outcome_unknown"
    kind = ErrorKind.CONFLICT
    message = (
        "The server was stopped while it did this, so it may have taken effect. Look whether it did; if "
        "not, send the request with a new Idempotency-Key."
    )


class AnswerNotKept(ParticipantError):
    """A repeated request whose response contained a secret."""

    public_name = "answer_not_kept"
    kind = ErrorKind.CONFLICT
    message = "This request took effect when it came first. Its answer held a secret, which is shown once."


@dataclass(frozen=True, slots=True)
class Repeated:
    """The response to the first request."""

    status: int
    answer: str


def begin(
    session: Session, *, user: User, key: str, fingerprint: str, now: datetime
) -> Repeated | RepeatableRequest:
    """Store the start of a request, or return the earlier response to it.

    Raises InvalidKey, KeyUsed, UnderWay, OutcomeUnknown, AnswerNotKept.
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
    """Store the response for repeated requests, None for one with a secret."""
    request = session.get(RepeatableRequest, request_id)
    if request is not None:
        request.status, request.answer = status, answer
        session.flush()


def release(session: Session, *, request_id: int) -> None:
    """Delete a rejected request, whose key may be used again."""
    session.execute(delete(RepeatableRequest).where(RepeatableRequest.id == request_id))


def is_old(now: datetime) -> ColumnElement[bool]:
    """Return the condition for expired requests."""
    return RepeatableRequest.at <= now - KEPT
