"""Sign-ups by e-mailed link or invitation."""

from datetime import datetime, timedelta

from argon2 import PasswordHasher
from sqlalchemy.orm import Session

from grader.models import AccountLink, LinkPurpose, User
from grader.services.identity import (
    accounts,
    email_addresses,
    kept_identities,
    one_time_links,
    password_resets,
)
from grader.services.site import letters, mail_addresses

MAILED_FOR = timedelta(days=1)
INVITED_FOR = timedelta(days=14)


def ask(session: Session, *, address: str, then: str = "/", now: datetime) -> None:
    """E-mail a sign-up link, or a reset link if the address has an account; raise InvalidAddress.

    Both cases take the same time, so only the recipient can find out whether an account exists. `then` is the
    path to open afterwards.
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
    letter = "sign-up" if user is None else "sign-up-of-account"
    onward = one_time_links.onward(then)
    letters.send_to_address(session, letter, address, user=user, token=token, onward=onward, now=now)


def invite(session: Session, *, created_by: str, now: datetime) -> str:
    """Create an invitation for one account, for an administrator to pass on, and return its token."""
    return one_time_links.create(
        session,
        purpose=LinkPurpose.SIGN_UP,
        created_by=created_by,
        lifetime=INVITED_FOR,
        now=now,
    )


def find(session: Session, *, token: str, now: datetime) -> AccountLink:
    """Return the sign-up link with this token; raise Refusal."""
    return one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=now)


def use(
    session: Session,
    *,
    token: str,
    name: str,
    password: str,
    passwords: PasswordHasher,
    secret: str,
    now: datetime,
) -> User:
    """Create an account from a sign-up link, and verify the address to which the link was sent.

    Raise Refusal or InvalidAccount.
    """
    user = accounts.draft(session, name=name, password=password, passwords=passwords, now=now)
    link = one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=now, lock=True)
    if link.email is not None:
        email_addresses.require_free(session, address=link.email)
        user.email, user.email_key = link.email, mail_addresses.key(link.email)
        user.email_verified_at = now
    accounts.add(session, user=user)
    kept_identities.keep_new(session, user=user, secret=secret)
    one_time_links.spend(session, link=link, now=now)
    return user
