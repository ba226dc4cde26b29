"""Sign-up by a mailed link that confirms the address, or by an administrator's invitation to the site."""

from datetime import datetime, timedelta
from urllib.parse import quote

from argon2 import PasswordHasher
from sqlalchemy.orm import Session

from grader.models import AccountLink, LinkPurpose, User
from grader.services.accounts import accounts, email_addresses, one_time_links, password_resets
from grader.services.mail import addresses as mail_addresses
from grader.services.mail import letters

MAILED_FOR = timedelta(days=1)
INVITED_FOR = timedelta(days=14)


def ask(session: Session, *, address: str, then: str = "/", now: datetime) -> None:
    """Mail a sign-up link to an address, and a way back in to one that has an account.

    Both cost the same: nothing but the mailbox tells whether somebody has an account. `then` is the path to
    which a new account goes on. Raises InvalidAddress.
    """
    address = mail_addresses.clean_address(address)
    user = email_addresses.owner(session, address=address)
    token = one_time_links.create(
        session,
        purpose=LinkPurpose.SIGN_UP if user is None else LinkPurpose.RESET_PASSWORD,
        user=user,
        address=address,
        created_by="mail",
        lifetime=MAILED_FOR if user is None else password_resets.MAILED_FOR,
        now=now,
    )
    if user is None:
        onward = "" if then == "/" else f"?next={quote(then)}"
        letters.send_to_address(session, "sign-up", address, token=token, onward=onward, now=now)
    else:
        letters.send_to_address(session, "sign-up-of-account", address, user=user, token=token, now=now)


def invite(session: Session, *, created_by: str, now: datetime) -> str:
    """Make an invitation for one account, which an organizer hands over, and return its token."""
    return one_time_links.create(
        session,
        purpose=LinkPurpose.SIGN_UP,
        created_by=created_by,
        lifetime=INVITED_FOR,
        now=now,
    )


def find(session: Session, *, token: str, now: datetime) -> AccountLink:
    """Return the sign-up link of a token; raise InvalidLink."""
    return one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=now)


def use(
    session: Session, *, token: str, name: str, password: str, passwords: PasswordHasher, now: datetime
) -> User:
    """Make the account of a link; the address that it was mailed to is verified by that.

    Raises InvalidLink, InvalidAccount, NameTaken, AddressTaken.
    """
    user = accounts.draft(name=name, password=password, passwords=passwords, now=now)
    link = one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=now, lock=True)
    if link.email is not None:
        email_addresses.require_free(session, address=link.email)
        user.email, user.email_key = link.email, mail_addresses.key(link.email)
        user.email_verified_at = now
    accounts.add(session, user=user)
    one_time_links.spend(session, link=link, now=now)
    return user
