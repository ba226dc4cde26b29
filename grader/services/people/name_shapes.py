"""Refuse a name that looks like one already taken (stored look-alike shapes of names)."""

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from grader.models import Competition, Team, User
from grader.services.counting import named_locks
from grader.services.people import names


def hold_accounts(session: Session) -> None:
    """Lock the names of accounts until the transaction ends."""
    named_locks.hold(session, "names of accounts")


def is_taken(session: Session, *, name: str) -> bool:
    """Return whether an account has this name or one that looks like it; the names of accounts are held."""
    return bool(session.scalar(select(exists().where(_is_alike(User, name)))))


def is_taken_by_team(
    session: Session, *, competition: Competition, name: str, but_for: Team | None = None
) -> bool:
    """Return whether a team of a locked competition, except `but_for`, has this or a look-alike name."""
    alike = (Team.competition_id == competition.id) & _is_alike(Team, name)
    if but_for is not None:
        alike &= Team.id != but_for.id
    return bool(session.scalar(select(exists().where(alike))))


def _is_alike(table: type[User] | type[Team], name: str) -> ColumnElement[bool]:
    return (table.name_shape == names.name_shape(name)) | (table.name_key == names.name_key(name))
