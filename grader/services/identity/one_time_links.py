"""One-time links, such as those in e-mails, and random secrets."""

import hashlib
import secrets
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.models import AccountLink, LinkPurpose, User
from grader.services.site import letters, mail_addresses

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MAILED_FOR = {
    LinkPurpose.VERIFY_EMAIL: DAY,
    LinkPurpose.RESET_PASSWORD: HOUR,
    LinkPurpose.SIGN_UP: DAY,
}
HANDED_FOR = {
    LinkPurpose.RESET_PASSWORD: DAY,
    LinkPurpose.SIGN_UP: 14 * DAY,
    LinkPurpose.LOG_IN: DAY,
    LinkPurpose.SET_UP: 365 * DAY,
}


# The letters about an address that belongs to no account, and to another account.
LETTERS = {
    LinkPurpose.SIGN_UP: ("sign-up", "sign-up-of-account"),
    LinkPurpose.RESET_PASSWORD: ("password-reset-of-nobody", "password-reset"),
    LinkPurpose.VERIFY_EMAIL: ("address-to-verify", "address-taken"),
}


def new_secret(prefix: str = "") -> str:
    """Return a token with 256 random bits for a URL or a header."""
    return prefix + secrets.token_urlsafe(32)


def sha256_of(token: str) -> str:
    """Return the stored hash of a token."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def invalid() -> Refusal:
    """Return the refusal for a link that does not exist, was used or replaced, or has expired."""
    message = "This link is not valid. It has already been used, has expired, or was copied incompletely."
    return Refusal("invalid_link", ErrorKind.NOT_FOUND, message)


def create(
    session: Session,
    *,
    purpose: LinkPurpose,
    now: datetime,
    user: User | None = None,
    address: str | None = None,
    lifetime: timedelta | None = None,
) -> str:
    """Create a link and return its token; also delete expired links.

    By default, a link to be mailed to an `address` expires earlier than one that somebody passes on.
    """
    session.execute(delete(AccountLink).where(AccountLink.expires_at <= now))
    token = new_secret()
    session.add(
        AccountLink(
            purpose=purpose,
            token_sha256=sha256_of(token),
            user_id=None if user is None else user.id,
            email=address,
            expires_at=now + (lifetime or (HANDED_FOR if address is None else MAILED_FOR)[purpose]),
            used_at=None,
        )
    )
    session.flush()
    return token


def ask(
    session: Session,
    *,
    purpose: LinkPurpose,
    address: str,
    user: User | None = None,
    then: str = "/",
    now: datetime,
) -> None:
    """E-mail a link to an address, which a `user` wants to verify; raise InvalidAddress.

    The link and the text depend on whether the address belongs to another account. Both cases take the same
    time, so only the recipient can find out whether an account exists. `then` is the path to open afterwards.
    """
    address = mail_addresses.clean_address(address)
    owner = session.scalar(select(User).where(User.email_key == mail_addresses.key(address)))
    is_known = owner is not None and (user is None or owner.id != user.id)
    letter = LETTERS[purpose][is_known]
    if purpose is LinkPurpose.SIGN_UP and is_known:
        purpose = LinkPurpose.RESET_PASSWORD
    common: dict[str, Any] = {"user": user or owner, "now": now}
    token = create(session, purpose=purpose, address=address, **common)  # which may never be valid
    onward = "" if then == "/" else f"?next={quote(then)}"
    letters.send_to_address(session, letter, address, token=token, onward=onward, **common)


def require(
    session: Session, *, purpose: LinkPurpose, token: str, now: datetime, use: bool = False
) -> AccountLink:
    """Return a valid, unused link; raise Refusal.

    With `use`, mark it as used, and delete the user's other links for the same purpose.
    """
    query = select(AccountLink).where(
        AccountLink.token_sha256 == sha256_of(token),
        AccountLink.purpose == purpose,
        AccountLink.used_at.is_(None),
        AccountLink.expires_at > now,
    )
    link = session.scalar(query.with_for_update() if use else query)
    if link is None:
        raise invalid()
    if use:
        link.used_at = now
        session.flush()
        others = AccountLink.user_id == link.user_id, AccountLink.used_at.is_(None)
        if link.user_id is not None:  # The links without a user belong to different people.
            session.execute(delete(AccountLink).where(AccountLink.purpose == purpose, *others))
    return link


def holder(session: Session, *, purpose: LinkPurpose, token: str, now: datetime, use: bool = False) -> User:
    """Return the user of a link of `require`; raise Refusal if the account was deleted."""
    link = require(session, purpose=purpose, token=token, now=now, use=use)
    person = None if link.user_id is None else session.get(User, link.user_id)
    if person is None or person.deleted_at is not None:
        raise invalid()
    return person
