"""Mail outbox: queue, claims, retries, retention.

An e-mail whose key was used before is not queued.
"""

import enum
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, select
from sqlalchemy.orm import Session

from grader.db import insert_new
from grader.models import Mail, User
from grader.text import one_line

SUBJECT_MAX_LENGTH = 200
CHUNK = 1000  # e-mails per statement
LEASE = timedelta(minutes=5)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=4)
GIVEN_UP_AFTER = timedelta(days=2)
KEPT = timedelta(days=30)
# The mailer replaces this placeholder in the body with the site's public URL.
SITE = "{site}"
QUEUED = "queued letters"

_NOTICE_FOOTER = f"\n\n-- \nChoose which e-mails you receive: {SITE}/account\n"


class Notice(enum.StrEnum):
    """The kinds of e-mail that users can switch off."""

    SCORED = "scored"
    TEAM = "team"
    RESULTS = "results"
    ORGANIZER = "organizer"


def notify(
    session: Session,
    letters: Iterable[tuple[User, str]],
    *,
    kind: Notice,
    key: str,
    subject: str,
    now: datetime,
) -> int:
    """Queue a letter to each user with a verified address who wants its kind; return their number.

    `key` is unique for the user and the event, such as `scored:17`. `SITE` in a letter is replaced with the
    site's public URL.
    """
    rows = [
        _row(
            user.email or "", subject, body.rstrip() + _NOTICE_FOOTER, now, key=f"{user.id}:{key}", user=user
        )
        for user, body in letters
        if is_wanted(user, kind)
    ]
    for start in range(0, len(rows), CHUNK):
        insert_new(session, Mail, rows[start : start + CHUNK])
    session.info[QUEUED] = count_queued(session) + len(rows)
    return len(rows)


def count_queued(session: Session) -> int:
    """Return the number of letters that `notify` has queued in this session."""
    count: int = session.info.get(QUEUED, 0)
    return count


def count_readers(session: Session, users: Select[User], kind: Notice) -> int:
    """Return the number of these users who receive this kind of e-mail."""
    return sum(is_wanted(user, kind) for user in session.scalars(users))


def write(
    session: Session,
    *,
    to_address: str,
    subject: str,
    body: str,
    now: datetime,
    key: str | None = None,
    user: User | None = None,
) -> None:
    """Queue an e-mail, unless its key was used before."""
    insert_new(session, Mail, [_row(to_address, subject, body, now, key=key, user=user)])


def _row(
    to_address: str, subject: str, body: str, now: datetime, *, key: str | None, user: User | None
) -> dict[str, Any]:
    return {
        "key": key,
        "user_id": None if user is None else user.id,
        "to_address": one_line(to_address, 254),
        "subject": one_line(subject, SUBJECT_MAX_LENGTH),
        "body": body,
        "created_at": now,
        "available_at": now,
        "attempt_count": 0,
    }


def are_waiting(now: datetime) -> ColumnElement[bool]:
    """Return the condition that `claim` would return an e-mail."""
    return _waiting(now).exists()


def claim(session: Session, *, now: datetime) -> Mail | None:
    """Claim the oldest due e-mail, or None if there is none."""
    query = _waiting(now).order_by(Mail.available_at, Mail.id).limit(1)
    mail: Mail | None = session.scalar(query.with_for_update(skip_locked=True))
    if mail is None:
        return None
    mail.available_at = now + LEASE
    mail.attempt_count += 1
    session.flush()
    return mail


def record_sent(session: Session, *, claimed: Mail, now: datetime) -> None:
    """Record that an e-mail was sent, and delete its body, which may contain a link."""
    mail = session.get(Mail, claimed.id, with_for_update=True)
    if mail is not None and mail.sent_at is None:
        mail.sent_at, mail.body, mail.error = now, "", None
        session.flush()


def record_failed(session: Session, *, claimed: Mail, error: str, is_final: bool, now: datetime) -> None:
    """Record a delivery error; the e-mail is retried after a pause unless the error is permanent."""
    mail = session.get(Mail, claimed.id, with_for_update=True, populate_existing=True)
    if mail is not None and mail.attempt_count == claimed.attempt_count and mail.sent_at is None:
        mail.error = one_line(error, 500)
        mail.available_at = now + (GIVEN_UP_AFTER if is_final else pause_after(mail.attempt_count))
        session.flush()


def pause_after(attempt: int) -> timedelta:
    """Return the pause after this many failed attempts, which doubles up to a maximum."""
    pause: timedelta = FIRST_PAUSE * 2 ** min(attempt - 1, 20)
    return min(pause, LONGEST_PAUSE)


def forget_old(session: Session, *, now: datetime) -> None:
    """Delete e-mails that were queued more than a month ago."""
    session.execute(delete(Mail).where(Mail.created_at <= now - KEPT))


def is_wanted(user: User, kind: Notice) -> bool:
    """Return whether a user with a verified address has not switched off a kind of e-mail.

    Suspended users receive none, because they can no longer see the pages that it is about.
    """
    can_have_it = user.email and user.email_verified_at and not (user.deleted_at or user.suspended_at)
    return bool(can_have_it) and kind.value not in user.unwanted_notices


def _waiting(now: datetime) -> Select[Mail]:
    return select(Mail).where(
        Mail.sent_at.is_(None), Mail.available_at <= now, Mail.created_at > now - GIVEN_UP_AFTER
    )
