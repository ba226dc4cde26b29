"""Sign-ups by e-mailed link or invitation."""

from datetime import datetime

from argon2 import PasswordHasher
from sqlalchemy.orm import Session

from grader.models import LinkPurpose, User
from grader.services.identity import (
    accounts,
    email_addresses,
    kept_identities,
    one_time_links,
)
from grader.services.site import mail_addresses


def invite(session: Session, *, now: datetime) -> str:
    """Create an invitation for one account, for an administrator to pass on, and return its token."""
    return one_time_links.create(session, purpose=LinkPurpose.SIGN_UP, now=now)


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
