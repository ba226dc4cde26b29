"""Change and verify the e-mail address of an account; a verified address belongs to one account only.

An address that was not verified is written beside the account and does nothing; only a verified one gets mail
and is unique.
"""

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ParticipantError
from grader.models import LinkPurpose, User
from grader.services.accounts import one_time_links
from grader.services.mail import addresses, outbox

VERIFIABLE_FOR = timedelta(days=1)


class AddressTaken(ParticipantError):
    """Another account has verified this address."""

    public_name = "address_taken"
    message = "Another account already has this e-mail address."


def owner(session: Session, *, address: str) -> User | None:
    """Return the person who verified an address."""
    return session.scalar(select(User).where(User.email_key == addresses.key(address)))


def require_free(session: Session, *, address: str) -> None:
    """Raise AddressTaken if somebody verified an address."""
    if owner(session, address=address) is not None:
        raise AddressTaken


def note(session: Session, *, user: User, address: str) -> None:
    """Write down a person's address on a site that sends no mail; an empty one takes it away.

    Raises InvalidAddress.
    """
    person = session.get_one(User, user.id)
    person.email = addresses.clean_address(address) if address.strip() else None
    person.email_key = person.email_verified_at = None
    session.flush()


def ask_to_verify(session: Session, *, user: User, address: str, now: datetime) -> None:
    """Send a link to a new address, which becomes the person's when the link is used.

    The answer does not tell whether somebody else has the address: only its holder reads that. Raises
    InvalidAddress.
    """
    address = addresses.clean_address(address)
    token = one_time_links.create(
        session,
        purpose=LinkPurpose.VERIFY_EMAIL,
        user=user,
        address=address,
        created_by=user.name,
        lifetime=VERIFIABLE_FOR,
        now=now,
    )
    holder = owner(session, address=address)
    is_free = holder is None or holder.id == user.id
    body = _VERIFY.format(name=user.name, site=outbox.SITE, token=token)
    outbox.write(
        session,
        to_address=address,
        subject="Confirm your e-mail address" if is_free else "Your e-mail address",
        body=body if is_free else _HELD.format(name=user.name, site=outbox.SITE),
        now=now,
    )


def verify(session: Session, *, token: str, now: datetime) -> User:
    """Confirm the address of a link and e-mail the old one; raise InvalidLink or AddressTaken."""
    link = one_time_links.require(session, purpose=LinkPurpose.VERIFY_EMAIL, token=token, now=now, lock=True)
    person, address = session.get_one(User, link.user_id), link.email or ""
    if person.email_key != addresses.key(address):
        require_free(session, address=address)
        if person.email_verified_at and person.email:
            body = _CHANGED.format(name=person.name, site=outbox.SITE, address=address)
            subject = "Your e-mail address was changed"
            outbox.write(session, to_address=person.email, subject=subject, body=body, now=now)
    person.email, person.email_key, person.email_verified_at = address, addresses.key(address), now
    one_time_links.spend(session, link=link, now=now)
    return person


_VERIFY = """Hello {name},

Open this link to confirm your e-mail address. It works once, within a day:

{site}/verify/{token}

If you did not ask for this, do nothing: we do not use this address unless you open the link.
"""

_HELD = """Hello,

{name} at {site} entered this e-mail address, but it belongs to another account there, maybe your own.
Nothing was changed, and you do not have to do anything.
"""

_CHANGED = """Hello {name},

The e-mail address of your account at {site} is now {address}.
If that was not you, contact the people who run the site immediately.
"""
