"""Audit log: entries, and the public log.

The log is append-only: the database rejects changes and deletions. Actions that change standings, deadlines
or rules have an additional text for the public log. Entries refer to teams and users by id and are shown with
current names, so the log does not preserve the former names of renamed teams and deleted accounts.
"""

import getpass
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from pydantic_core import to_jsonable_python
from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import AuditEntry, Competition, Team, User
from grader.models.competitions import DELETED
from grader.services.site.paging import FIRST, Part, Slice, slice_of_query

ORIGIN_MAX_LENGTH = 64
_MENTION = re.compile(r"\[(team|person) (\d{1,9})\]")


@dataclass(frozen=True, slots=True)
class Actor:
    """The actor of an action: a user, or else the shell or the scheduled task named by `origin`."""

    user: User | None
    origin: str

    @classmethod
    def of(cls, user: User) -> Self:
        """Return the actor for a user of the web pages or the API."""
        return cls(user, "web")

    @classmethod
    def shell(cls) -> Self:
        """Return the actor for commands in the shell."""
        return cls(None, f"shell ({operator()})"[:ORIGIN_MAX_LENGTH])

    @classmethod
    def calendar(cls) -> Self:
        """Return the actor for scheduled tasks."""
        return cls(None, "calendar")

    @property
    def name(self) -> str:
        """The user's name, or the origin if there is no user."""
        return self.user.name if self.user else self.origin


def mention(who: Team | User) -> str:
    """Return the placeholder for a team or a user in an entry's text."""
    return f"[{'team' if isinstance(who, Team) else 'person'} {who.id}]"


def list_after(
    session: Session,
    *,
    competition: Competition | None,
    action: str = "",
    person: str = "",
    part: Part = FIRST,
) -> tuple[Slice[AuditEntry], dict[str, str]]:
    """Return entries of a competition's audit log, or of the site's if it is None, newest first.

    The site's audit log contains entries without a competition and entries of deleted drafts. `action` is an
    action or only its noun, such as `team`. `person` is the name of an account or an origin. Also return the
    names that `with_names` needs.
    """
    query = _wanted(competition, action, person).options(joinedload(AuditEntry.actor))
    entries = slice_of_query(session, query, key=AuditEntry.__table__.c.id, part=part)
    return entries, names(session, entries.rows)


def public_slice(
    session: Session, *, competition: Competition, part: Part = FIRST
) -> Slice[tuple[AuditEntry, str]]:
    """Return a slice of the public log with its texts, newest first."""
    query = select(AuditEntry).where(AuditEntry.competition_id == competition.id, AuditEntry.is_public)
    entries = slice_of_query(session, query, key=AuditEntry.__table__.c.id, part=part)
    known = names(session, entries.rows, has_aliases=competition.is_anonymous)
    return entries.with_rows((each, with_names(each.public_text, known)) for each in entries.rows)


def actions(session: Session, *, competition: Competition) -> list[str]:
    """Return the actions in a competition's audit log, sorted."""
    query = select(AuditEntry.action).where(AuditEntry.competition_id == competition.id).distinct()
    return sorted(session.scalars(query))


def people(session: Session, *, competition: Competition) -> list[str]:
    """Return the actors in a competition's audit log as account names or origins."""
    query = (
        select(func.coalesce(User.name, AuditEntry.origin))
        .select_from(AuditEntry)
        .outerjoin(AuditEntry.actor)
        .where(AuditEntry.competition_id == competition.id)
        .distinct()
    )
    return sorted(session.scalars(query))


def operator() -> str:
    """Return the name of the operating system user who runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # In a container, the user id may have no name.
        return f"user {os.getuid()}"


def _wanted(competition: Competition | None, action: str, person: str) -> Select[AuditEntry]:
    if competition is not None:
        query = select(AuditEntry).where(AuditEntry.competition_id == competition.id)
    else:
        deleted = select(Competition.id).where(Competition.slug.startswith(DELETED))
        belongs_to_none = AuditEntry.competition_id.is_(None)
        query = select(AuditEntry).where(or_(belongs_to_none, AuditEntry.competition_id.in_(deleted)))
    if action:
        query = query.where(
            or_(AuditEntry.action == action, AuditEntry.action.startswith(f"{action}.", autoescape=True))
        )
    if person:
        named = select(User.id).where(User.name == person)
        nobody = AuditEntry.actor_id.is_(None) & (AuditEntry.origin == person)
        query = query.where(or_(AuditEntry.actor_id.in_(named), nobody))
    return query


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return an entry's text with its placeholders for teams and users replaced by names."""
    return _MENTION.sub(lambda mention: names.get(mention[0], mention[0]), text)


def names(session: Session, entries: Iterable[AuditEntry], *, has_aliases: bool = False) -> dict[str, str]:
    """Return the current names (or aliases) of the teams and users that entries mention, by placeholder."""
    ids: dict[str, set[int]] = {"team": set(), "person": set()}
    for entry in entries:
        for kind, number in _MENTION.findall(f"{entry.subject} {entry.public_text}"):
            ids[kind].add(int(number))
    shown = Team.alias if has_aliases else Team.name
    teams = session.execute(select(Team.id, shown).where(Team.id.in_(ids["team"]))).all()
    people = session.execute(select(User.id, User.name).where(User.id.in_(ids["person"]))).all()
    return {f"[team {id_}]": name for id_, name in teams} | {f"[person {id_}]": name for id_, name in people}


def changes(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return the fields that differ, as JSON data before and after, and the names of those that are times."""
    times = {
        name
        for each in (before, after)
        for name, value in (each or {}).items()
        if isinstance(value, datetime)
    }
    old, new = (to_jsonable_python(dict(each or {}), fallback=str) for each in (before, after))
    same = {name for name in old.keys() & new.keys() if old[name] == new[name]}
    first, last = ({name: each[name] for name in each if name not in same} for each in (old, new))
    return first, last, sorted(times)
