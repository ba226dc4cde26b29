"""Password resets by e-mailed links or administrators' links."""

from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import LinkPurpose, User
from grader.services.identity import one_time_links, passwords
from grader.services.site import letters


def create_link(session: Session, *, user: User, now: datetime) -> str:
    """Create a reset link for an organizer or administrator to pass on, and return its token."""
    return one_time_links.create(session, purpose=LinkPurpose.RESET_PASSWORD, user=user, now=now)


def whose(session: Session, *, token: str, now: datetime) -> User:
    """Return the user of a reset link; raise Refusal."""
    link = one_time_links.require(session, purpose=LinkPurpose.RESET_PASSWORD, token=token, now=now)
    return one_time_links.holder(session, link)


def use(session: Session, *, token: str, password_hash: str, now: datetime) -> User:
    """Set a new password and end the user's sessions and reset links; raise Refusal."""
    link = one_time_links.require(
        session, purpose=LinkPurpose.RESET_PASSWORD, token=token, now=now, lock=True
    )
    person = one_time_links.holder(session, link)
    passwords.set_password(session, user=person, password_hash=password_hash)
    one_time_links.spend(session, link=link, now=now)
    if person.email and person.email_verified_at:
        letters.send_to_address(session, "password-changed", person.email, user=person, now=now)
    return person
