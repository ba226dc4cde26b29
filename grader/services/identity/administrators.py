"""Site administrators, and the first administrator from a setup link or the settings."""

from datetime import datetime

from argon2 import PasswordHasher
from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal, Refusal
from grader.models import AccountLink, LinkPurpose, User
from grader.services.competitions import acting
from grader.services.identity import accounts, names, one_time_links
from grader.services.site import log
from grader.services.site.log import Actor
from grader.settings import PREFIX, Settings


class LastAdministrator(OrganizerError):
    """The only administrator cannot be removed."""

    public_name = "last_administrator"
    message = "{user.name} is the only administrator. Make someone else an administrator first."


def change(session: Session, *, user: User, is_admin: bool, actor: Actor, now: datetime) -> User:
    """Grant or revoke a user's administrator rights; raise LastAdministrator or Refusal."""
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
        message = f"{account.name} is suspended. Reinstate the account first."
        raise Refusal("not_suspendable", ErrorKind.CONFLICT, message)
    account.is_admin = is_admin
    action = "administrator.make" if is_admin else "administrator.unmake"
    before, after = {"is_admin": not is_admin}, {"is_admin": is_admin}
    subject = f"person {log.mention(account)}"
    acting.of_site(session, actor, now).record(action, subject, before=before, after=after)
    return account


def create_from_settings(session: Session, *, settings: Settings, now: datetime) -> User | None:
    """Create the administrator that the settings specify; raise OrganizerRefusal.

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
        message = (
            f"The first administrator cannot be created from {PREFIX}ADMIN_NAME and {PREFIX}ADMIN_PASSWORD: "
            f"{error.message}"
        )
        raise OrganizerRefusal("unusable_administrator", ErrorKind.CONFLICT, message) from error


def create_setup_link(session: Session, *, now: datetime) -> str | None:
    """Create a setup link, revoke earlier ones and return its token; None if an administrator exists."""
    if _has_admin(session):
        return None
    session.execute(delete(AccountLink).where(AccountLink.purpose == LinkPurpose.SET_UP))
    return one_time_links.create(session, purpose=LinkPurpose.SET_UP, now=now)


def require_setup_link(session: Session, *, token: str, now: datetime, use: bool = False) -> None:
    """Raise Refusal unless a setup link can still be used; with `use`, mark it as used."""
    if _has_admin(session):
        raise one_time_links.invalid()
    one_time_links.require(session, purpose=LinkPurpose.SET_UP, token=token, now=now, use=use)


def use_setup_link(
    session: Session, *, token: str, name: str, password: str, passwords: PasswordHasher, now: datetime
) -> User:
    """Create the first administrator; raise Refusal or InvalidAccount."""
    user = accounts.draft(session, name=name, password=password, passwords=passwords, now=now, is_admin=True)
    require_setup_link(session, token=token, now=now, use=True)
    return accounts.add(session, user=user)


def first(session: Session) -> User:
    """Return the oldest account with administrator rights that is not suspended; raise OrganizerRefusal."""
    user = session.scalar(
        select(User).where(User.is_admin, User.suspended_at.is_(None)).order_by(User.id).limit(1)
    )
    if user is None:
        message = (
            "The site has no administrator. Create one with `fairboard user create NAME --admin`, or name an "
            "account with --as."
        )
        raise OrganizerRefusal("no_administrator", ErrorKind.CONFLICT, message)
    return user


def _has_admin(session: Session) -> bool:
    return bool(session.scalar(select(exists().where(User.is_admin))))
