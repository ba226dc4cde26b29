"""Refuse a name that looks like one already taken (stored look-alike shapes of names).

Rows of earlier versions have none. Of names that look alike already the oldest gets the shape; the others
keep their names, and a shape of their own.
"""

from typing import Any

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from grader.models import Competition, Team, User
from grader.services.counting import named_locks
from grader.services.people import names


def hold_accounts(session: Session) -> None:
    """Lock the names of accounts until the transaction ends, and let each have its shape."""
    named_locks.hold(session, "names of accounts")
    _fill(session, User, User.name_shape.is_(None))


def fill_teams(session: Session, *, competition: Competition) -> None:
    """Let each team of a locked competition have the shape of its name."""
    _fill(session, Team, Team.name_shape.is_(None) & (Team.competition_id == competition.id))


def is_taken(session: Session, *, name: str) -> bool:
    """Return whether an account has this name or one that looks like it; the names of accounts are held."""
    return bool(session.scalar(select(exists().where(_is_alike(User, name)))))


def is_taken_by_team(
    session: Session, *, competition: Competition, name: str, but_for: Team | None = None
) -> bool:
    """Return whether a team of a locked competition, except `but_for`, has this or a look-alike name."""
    fill_teams(session, competition=competition)
    alike = (Team.competition_id == competition.id) & _is_alike(Team, name)
    if but_for is not None:
        alike &= Team.id != but_for.id
    return bool(session.scalar(select(exists().where(alike))))


def _is_alike(table: type[User] | type[Team], name: str) -> ColumnElement[bool]:
    # The key too, for a version that knows no shapes may have given it away.
    return (table.name_shape == names.name_shape(name)) | (table.name_key == names.name_key(name))


def _fill(session: Session, table: type[User] | type[Team], where: ColumnElement[bool]) -> None:
    rows: list[Any] = list(session.scalars(select(table).where(where).order_by(table.id)))
    for row in rows:
        shape = names.name_shape(row.name)
        taken = table.name_shape == shape
        if table is Team:
            taken &= Team.competition_id == row.competition_id
        is_taken = session.scalar(select(exists().where(taken)))
        row.name_shape = f"{shape[:230]}\x1f{row.id}" if is_taken else shape
        session.flush()
