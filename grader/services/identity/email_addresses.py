"""Users' e-mail addresses and their verification."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.models import LinkPurpose, User
from grader.services.identity import kept_identities, one_time_links
from grader.services.site import letters
from grader.services.site import mail_addresses as addresses


def owner(session: Session, *, address: str) -> User | None:
    """Return the account that has verified an address, or None."""
    return session.scalar(select(User).where(User.email_key == addresses.key(address)))


def require_free(session: Session, *, address: str) -> None:
    """Raise Refusal if an account has verified the address."""
    if owner(session, address=address) is not None:
        message = "Another account already uses this e-mail address. Enter a different one."
        raise Refusal("address_taken", ErrorKind.INVALID, message)


def note(session: Session, *, user: User, address: str) -> None:
    """Set an unverified address, or None if it is empty, on a site without e-mail; raise InvalidAddress."""
    person = session.get_one(User, user.id)
    person.email = addresses.clean_address(address) if address.strip() else None
    person.email_key = person.email_verified_at = None
    session.flush()


def verify(session: Session, *, token: str, secret: str, now: datetime) -> User:
    """Verify the address of a link and notify the previous address.

    Raises Refusal.
    """
    link = one_time_links.require(session, purpose=LinkPurpose.VERIFY_EMAIL, token=token, now=now, use=True)
    person, address = session.get_one(User, link.user_id), link.email or ""
    if person.email_key != addresses.key(address):
        require_free(session, address=address)
        kept_identities.keep(session, user=person, secret=secret)
        if person.email_verified_at and person.email:
            letters.send_to_address(
                session, "address-changed", person.email, user=person, address=address, now=now
            )
    confirm(session, user=person, address=address, secret=secret, now=now)
    return person


def confirm(session: Session, *, user: User, address: str, secret: str, now: datetime) -> None:
    """Store a verified address of a user; raise Refusal if it belongs to a suspended person."""
    user.email, user.email_key, user.email_verified_at = address, addresses.key(address), now
    kept_identities.keep_new(session, user=user, secret=secret)
