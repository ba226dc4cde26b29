"""Site administrators: make a user one, or withdraw it; an administrator owns every competition."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.models import User
from grader.services.audit import log
from grader.services.audit.log import Actor


class LastAdministrator(OrganizerError):
    """A site always has somebody who can see to it."""

    public_name = "last_administrator"
    message = "{user.name} is the only administrator. Make somebody else an administrator first."


def change(session: Session, *, user: User, is_admin: bool, actor: Actor, now: datetime) -> User:
    """Make an account an administrator, or an ordinary account again; raise LastAdministrator."""
    # All of them are locked, or two could each take the other's right.
    admins = session.scalars(
        select(User)
        .where(User.is_admin, User.deleted_at.is_(None))
        .with_for_update()
        .execution_options(populate_existing=True)
    ).all()
    account = session.get_one(User, user.id, populate_existing=True)
    if account.is_admin == is_admin:
        return account
    if not is_admin and len(admins) == 1:
        raise LastAdministrator(user=account)
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
