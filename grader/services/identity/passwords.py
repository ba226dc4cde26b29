"""Password rules, password changes, and password hashing with limited concurrency."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from argon2 import PasswordHasher
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.models import LinkPurpose, Login, User
from grader.services.identity import logins, one_time_links
from grader.services.site import letters
from grader.text import counted

AT_ONCE = 1  # hashes per process
# The queue is long enough for a class that logs in at the same time. The last of 64 users waits for several
# seconds, or half a minute on a busy machine, in a separate pool of threads (`webapp.server.connections`).
# Attempts from known devices and addresses have their own queue, so that a flood of other attempts cannot
# keep out users who have logged in before.
MOST_WAITING = 64
WAIT_SECONDS = 45.0
RETRY_AFTER = timedelta(seconds=5)
MIN_LENGTH = 8
MAX_LENGTH = 1024
LEAST_SCORE = 3  # of zxcvbn: at least 10^8 guesses
LENGTH_LOOKED_AT = 72  # the time of zxcvbn grows with the square of the length
SITE_NAMES = ("Fairboard",)


class BoundedHasher(PasswordHasher):
    """A hasher with two queues for `turn`, within which web processes hash and verify."""

    def __init__(self, *, time_cost: int, memory_cost: int) -> None:
        super().__init__(time_cost=time_cost, memory_cost=memory_cost, parallelism=1)
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._places = {known: threading.BoundedSemaphore(MOST_WAITING) for known in (True, False)}

    @contextmanager
    def turn(self, *, is_known: bool = False) -> Iterator[None]:
        """Wait for a slot and hold it; raise Refusal if the queue is full or the wait is too long."""
        with _acquired(self._places[is_known], timeout=0), _acquired(self._slots, timeout=WAIT_SECONDS):
            yield

    def require_place(self, *, is_known: bool) -> None:
        """Raise Refusal if the queue is full; call this before more expensive checks."""
        with _acquired(self._places[is_known], timeout=0):
            pass


@contextmanager
def _acquired(semaphore: threading.Semaphore, *, timeout: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=timeout):
        message = (
            "Too many users are logging in, so your password was not checked. This did not count as an "
            "attempt. Try again in a few seconds."
        )
        raise Refusal("too_many_hashes", ErrorKind.NOT_YET, message, retry_after=RETRY_AFTER)
    try:
        yield
    finally:
        semaphore.release()


def password_problem(password: str, *, name: str) -> str | None:
    """Return the reason why the user `name` cannot use this password, or None."""
    from zxcvbn import zxcvbn

    if len(password) < MIN_LENGTH:
        return f"The password has {counted(len(password), 'character')}. Use at least {MIN_LENGTH}."
    if len(password) > MAX_LENGTH:
        return f"The password has {len(password):,} characters. Use at most {MAX_LENGTH:,}."
    own = [name, name.replace(" ", ""), *name.split(), *SITE_NAMES]
    rated = zxcvbn(password[:LENGTH_LOOKED_AT], user_inputs=own)
    if rated["score"] >= LEAST_SCORE:
        return None
    reason = rated["feedback"]["warning"] or "It is a common word or name, or short and regular."
    return f"The password is easy to guess. {reason} Choose a longer one, such as three unrelated words."


def set_password(session: Session, *, user: User, password_hash: str, keep: Login | None = None) -> User:
    """Set a password, and end the user's sessions except `keep`; return the user."""
    person = session.get_one(User, user.id)
    person.password_hash = password_hash
    logins.end_all(session, user=user, but=keep)
    session.flush()
    return person


def reset(session: Session, *, token: str, password_hash: str, now: datetime) -> User:
    """Set a new password with a reset link, and end the user's sessions and reset links; raise Refusal."""
    purpose = LinkPurpose.RESET_PASSWORD
    person = one_time_links.holder(session, purpose=purpose, token=token, now=now, use=True)
    set_password(session, user=person, password_hash=password_hash)
    if person.email and person.email_verified_at:
        letters.send_to_address(session, "password-changed", person.email, user=person, now=now)
    return person
