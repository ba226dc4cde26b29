"""Site administrators, and the first administrator from a setup link or the settings."""

from datetime import datetime

from argon2 import PasswordHasher
from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerError, ParticipantError
from grader.models import SetupLink, User
from grader.services.identity import accounts, names, one_time_links
from grader.services.identity.suspensions import NotSuspendable
from grader.services.site import log
from grader.services.site.log import Actor
from grader.settings import PREFIX, Settings


class LastAdministrator(OrganizerError):
    """The only administrator cannot be removed."""

    public_name = "last_administrator"
    message = "{user.name} is the only administrator. Make someone else an administrator first."


def change(session: Session, *, user: User, is_admin: bool, actor: Actor, now: datetime) -> User:
    """Grant or revoke a user's administrator rights; raise LastAdministrator or NotSuspendable."""
    # All administrators are locked so that two cannot remove each other concurrently.
    admins = session.scalars(
        select(User)
        .where(User.is_admin, User.deleted_at.is_(None))
        .with_for_update()
        .execution_options(populate_existing=True)
    ).all()
    account = session.get_one(User, user.id, populate_existing=True, with_for_update={"key_share": True})
    if account.is_admin == is_admin:
        return account
    if not is_admin and len(admins) == 1:
        raise LastAdministrator(user=account)
    if account.suspended_at:
        raise NotSuspendable(f"{account.name} is suspended. Reinstate the account first.")
    account.is_admin = is_admin
    session.flush()
    log.record(
        session,
        competition=None,
        actor=actor,
        action="administrator.make" if is_admin else "administrator.unmake",
        subject=f"person {log.mention(account)}",
        before={"is_admin": not is_admin},
        after={"is_admin": is_admin},
        now=now,
    )
    return account


class NoAdministrator(OrganizerError):
    """The site has no administrator."""

    public_name = "no_administrator"
    message = (
        "The site has no administrator. Create one with `fairboard user create NAME --admin`, or name an "
        "account with --as."
    )


class InvalidSetupLink(ParticipantError):
    """The setup link does not exist, was used or was replaced."""

    public_name = "invalid_setup_link"
    kind = ErrorKind.NOT_FOUND
    message = "This setup link is not valid. It has already been used, or a newer link has replaced it."


class UnusableAdministrator(OrganizerError):
    """The settings specify a first administrator that cannot be created."""

    public_name = "unusable_administrator"
    message = (
        f"The first administrator cannot be created from {PREFIX}ADMIN_NAME and {PREFIX}ADMIN_PASSWORD: "
        "{reason}"
    )


def create_from_settings(session: Session, *, settings: Settings, now: datetime) -> User | None:
    """Create the administrator that the settings specify; raise UnusableAdministrator.

    Return None if they specify none or if the site already has an administrator.
    """
    if settings.admin_name is None or settings.admin_password is None:
        return None
    names.hold_accounts(session)
    if _has_admin(session):
        return None
    try:
        return accounts.sign_up(
            session,
            name=settings.admin_name,
            password=settings.admin_password.get_secret_value(),
            passwords=accounts.password_hasher(settings),
            now=now,
            is_admin=True,
        )
    except accounts.InvalidAccount as error:
        raise UnusableAdministrator(reason=error.message) from error


def create_setup_link(session: Session, *, now: datetime) -> str | None:
    """Create a setup link, revoke earlier ones and return its token; None if an administrator exists."""
    if _has_admin(session):
        return None
    session.execute(delete(SetupLink).where(SetupLink.used_at.is_(None)))
    token = one_time_links.new_secret()
    session.add(SetupLink(token_sha256=one_time_links.sha256_of(token), created_at=now, used_at=None))
    session.flush()
    return token


def is_setup_open(session: Session, *, token: str) -> bool:
    """Return whether a setup link can still be used."""
    return _open_link(session, token) is not None and not _has_admin(session)


def use_setup_link(
    session: Session, *, token: str, name: str, password: str, passwords: PasswordHasher, now: datetime
) -> User:
    """Create the first administrator; raise InvalidSetupLink, InvalidAccount or NameTaken."""
    user = accounts.draft(session, name=name, password=password, passwords=passwords, now=now, is_admin=True)
    link = _open_link(session, token, lock=True)
    if link is None or _has_admin(session):
        raise InvalidSetupLink
    accounts.add(session, user=user)
    link.used_at = now
    session.flush()
    return user


def first(session: Session) -> User:
    """Return the oldest account with administrator rights that is not suspended; raise NoAdministrator."""
    user = session.scalar(
        select(User).where(User.is_admin, User.suspended_at.is_(None)).order_by(User.id).limit(1)
    )
    if user is None:
        raise NoAdministrator
    return user


def _has_admin(session: Session) -> bool:
    return bool(session.scalar(select(exists().where(User.is_admin))))


def _open_link(session: Session, token: str, *, lock: bool = False) -> SetupLink | None:
    query = select(SetupLink).where(
        SetupLink.token_sha256 == one_time_links.sha256_of(token), SetupLink.used_at.is_(None)
    )
    return session.scalar(query.with_for_update() if lock else query)
