"""Find a person by user name."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import User
from grader.services.people import names


class UnknownUser(ParticipantError):
    """No account has this name."""

    public_name = "unknown_user"
    kind = ErrorKind.NOT_FOUND
    message = "There is no account named {name!r}."


def get(session: Session, *, name: str) -> User:
    """Return the account of a name, whatever its case; raise UnknownUser."""
    user = find(session, name=name)
    if user is None:
        raise UnknownUser(name=name)
    return user


def find(session: Session, *, name: str) -> User | None:
    """Return the account of a name, whatever its case, None if there is none."""
    try:
        folded = names.folded(names.clean_name(name))
    except names.InvalidName:
        return None
    return session.scalar(select(User).where(User.name_folded == folded))
