"""Identities at providers: login, new accounts, linking, unlinking, administrator role.

An identity is found only by issuer and subject, never by e-mail address. An existing account is linked only
from one of its own sessions.
"""

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.identity_providers import Provider, SignUp
from grader.models import Identity, LinkPurpose, Login, User
from grader.services.competitions import acting
from grader.services.competitions.acting import Act
from grader.services.identity import (
    accounts,
    administrators,
    email_addresses,
    kept_identities,
    logins,
    names,
    one_time_links,
)
from grader.services.site import counting, letters, log
from grader.services.site import mail_addresses as addresses
from grader.services.site.log import Actor
from grader.settings import Settings
from grader.text import folded

logger = logging.getLogger(__name__)


def _linked_elsewhere(message: str) -> Refusal:
    return Refusal("linked_elsewhere", ErrorKind.CONFLICT, message)


def _unknown() -> Refusal:
    message = "This login is not linked to the account, or it has expired. Log in again."
    return Refusal("unknown_identity", ErrorKind.NOT_FOUND, message)


def is_rescue(user: User, settings: Settings) -> bool:
    """Return whether a user is the rescue administrator."""
    return user.is_admin and user.name_folded == folded(settings.rescue_administrator.strip())


def may_use_password(user: User, settings: Settings) -> bool:
    """Return whether a user may set a password and log in with it."""
    return settings.password_login or is_rescue(user, settings)


def require_may_use_password(user: User, settings: Settings) -> None:
    """Raise Refusal unless a user may set a password."""
    if not may_use_password(user, settings):
        message = "Password login is turned off on this site. Log in with an identity provider."
        raise Refusal("passwords_off", ErrorKind.FORBIDDEN, message)


def has_password(user: User, settings: Settings) -> bool:
    """Return whether a user has a password that the site accepts."""
    return user.password_hash != accounts.NO_PASSWORD and may_use_password(user, settings)


def arrive(
    session: Session, *, provider: Provider, claims: Mapping[str, Any], settings: Settings, now: datetime
) -> Identity:
    """Store the data in a person's validated claims; return the identity with its user, if any.

    The claims also grant or revoke the administrator role. Raises Refusal.
    """
    if not provider.admits(claims):
        domains = " and ".join(f"@{each}" for each in provider.allowed_domains)
        message = (
            f"Only {domains} may log in with {provider.label}, with an e-mail address that it has verified."
        )
        raise Refusal("domain_not_admitted", ErrorKind.FORBIDDEN, message)
    counting.hold_lock(session, "identities")
    identity = _find(session, provider, claims)
    if identity is None:
        identity = Identity(issuer=provider.issuer, subject=claims["sub"], user_id=None, linked_at=None)
        session.add(identity)
    identity.provider, identity.last_login_at = provider.slug, now
    identity.email = _address(provider, claims)
    session.flush()
    if identity.user is not None:
        _set_role(session, identity.user, provider, provider.makes_admin(claims), settings, now)
    return identity


def pending(
    session: Session, *, provider: Provider, subject: str, arrived_at: datetime, now: datetime
) -> Identity:
    """Lock and return an identity whose person may now create an account; raise Refusal.

    Only the newest arrival counts.
    """
    counting.hold_lock(session, "identities")
    identity = _find(session, provider, {"sub": subject})
    is_newest = identity is not None and identity.user_id is None and identity.last_login_at == arrived_at
    if identity is None or not is_newest or arrived_at <= now - logins.IDENTITY_PENDING:
        raise _unknown()
    return identity


def require_may_sign_up(
    session: Session, *, provider: Provider, settings: Settings, invitation: str, now: datetime
) -> None:
    """Raise Refusal unless a person may create an account with this invitation, if any."""
    policy = provider.accounts or settings.sign_up
    if policy is SignUp.CLOSED or (policy is SignUp.INVITE and not invitation):
        new = " A new account requires an invitation." if policy is SignUp.INVITE else ""
        message = (
            f"No account is linked to your login at {provider.label}. If you already have an account, log in "
            f"to it first and link {provider.label} on your account page.{new}"
        )
        raise Refusal("no_account", ErrorKind.FORBIDDEN, message)
    if invitation:
        one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=invitation, now=now)


def sign_up(
    session: Session,
    *,
    identity: Identity,
    name: str,
    is_admin: bool | None,
    provider: Provider,
    settings: Settings,
    invitation: str = "",
    now: datetime,
) -> User:
    """Create the account of a `pending` identity, without a password; use the invitation, if any.

    A verified address becomes the account's address unless another account has verified it.
    Raises Refusal or InvalidAccount.
    """
    require_may_sign_up(session, provider=provider, settings=settings, invitation=invitation, now=now)
    user = accounts.named(name, password_hash=accounts.NO_PASSWORD, now=now)
    address = identity.email
    if invitation:
        link = one_time_links.require(
            session, purpose=LinkPurpose.SIGN_UP, token=invitation, now=now, use=True
        )
        address = link.email or address
    # Without e-mail, a site has no verified addresses; `Identity.email` is enough for groups.
    if address and not settings.sends_mail():
        user.email = address
    elif address and email_addresses.owner(session, address=address) is None:
        user.email, user.email_key, user.email_verified_at = address, addresses.key(address), now
    accounts.add(session, user=user)
    identity.user, identity.linked_at = user, now
    session.flush()
    kept_identities.keep_new(session, user=user, secret=settings.secret())
    _record(acting.of_site(session, Actor.of(user), now), "sign_up", user, provider.slug)
    _set_role(session, user, provider, is_admin, settings, now)
    return user


def link(
    session: Session,
    *,
    user: User,
    provider: Provider,
    claims: Mapping[str, Any],
    settings: Settings,
    now: datetime,
) -> None:
    """Link an identity to a user who has just confirmed the account.

    Raises Refusal.
    """
    identity = arrive(session, provider=provider, claims=claims, settings=settings, now=now)
    person = session.get_one(User, user.id)
    if identity.user_id is not None and identity.user_id != person.id:
        raise _linked_elsewhere(f"Another account is already linked to this login at {provider.label}.")
    if identity.user_id == person.id:
        return
    same = exists().where(Identity.user_id == person.id, Identity.issuer == provider.issuer)
    if session.scalar(select(same)):
        raise _linked_elsewhere(f"Your account is already linked to another login at {provider.label}.")
    identity.user, identity.linked_at = person, now
    session.flush()
    kept_identities.keep_new(session, user=person, secret=settings.secret())
    _record(acting.of_site(session, Actor.of(person), now), "link", person, provider.slug)
    if person.email and person.email_verified_at:
        letters.send_to_address(
            session, "identity-linked", person.email, user=person, provider=provider.label, now=now
        )
    _set_role(session, person, provider, provider.makes_admin(claims), settings, now)


def unlink(
    act: Act, *, user: User, identity_id: int, settings: Settings, keep: Login | None = None
) -> Identity:
    """Unlink an identity and end the sessions that it started, except `keep`.

    Raises Refusal, also for users who unlink their own last login.
    """
    session, actor = act.session, act.actor
    counting.hold_lock(session, "identities")
    person = session.get_one(User, user.id, populate_existing=True)
    identity = session.get(Identity, identity_id, populate_existing=True)
    if identity is None or identity.user_id != person.id:
        raise _unknown()
    usable = {each.issuer for each in settings.providers()}
    others = [each for each in own(session, user=person) if each.id != identity.id and each.issuer in usable]
    is_own = actor.user is not None and actor.user.id == person.id
    if is_own and not others and not has_password(person, settings):
        rescue = "Set a password or link another provider first."
        message = f"You could not log in without {identity.provider}. {rescue}"
        raise Refusal("only_login", ErrorKind.CONFLICT, message)
    logins.end_waiting(session, user=person)
    ending = delete(Login).where(Login.user_id == person.id, Login.provider == identity.provider)
    session.execute(ending if keep is None else ending.where(Login.id != keep.id))
    kept_identities.keep(session, user=person, secret=settings.secret())
    session.delete(identity)
    session.flush()
    _record(act, "unlink", person, identity.provider)
    return identity


def own(session: Session, *, user: User) -> Sequence[Identity]:
    """Return a user's identities, oldest first."""
    return session.scalars(select(Identity).where(Identity.user_id == user.id).order_by(Identity.id)).all()


def _record(act: Act, action: str, user: User, provider: str) -> None:
    act.record(f"identity.{action}", f"person {log.mention(user)}", after={"provider": provider})


def _find(session: Session, provider: Provider, claims: Mapping[str, Any]) -> Identity | None:
    query = select(Identity).where(Identity.issuer == provider.issuer, Identity.subject == claims["sub"])
    return session.scalar(query.execution_options(populate_existing=True))


def _address(provider: Provider, claims: Mapping[str, Any]) -> str | None:
    """Return the verified address in the claims, or None if there is none or it is not valid."""
    try:
        return addresses.clean_address(provider.verified_email(claims) or "")
    except addresses.InvalidAddress:
        return None


def _set_role(
    session: Session,
    user: User,
    provider: Provider,
    is_admin: bool | None,
    settings: Settings,
    now: datetime,
) -> None:
    """Grant or revoke the administrator role; keep the rescue administrator and the last one."""
    if is_admin is None or user.suspended_at or (not is_admin and is_rescue(user, settings)):
        return
    actor = Actor(None, f"single sign-on ({provider.slug})")
    try:
        administrators.change(session, user=user, is_admin=is_admin, actor=actor, now=now)
    except administrators.LastAdministrator:
        logger.warning("The role of the only administrator was kept, although %s revokes it.", provider.slug)


def suggested_name(claims: Mapping[str, Any]) -> str:
    """Return the provider's user name if it can be a name here, otherwise an empty string."""
    try:
        return names.clean_name(str(claims.get("preferred_username") or "").partition("@")[0])
    except names.InvalidName:
        return ""
