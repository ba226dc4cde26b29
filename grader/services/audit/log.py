"""Audit log: actions and their wording, entries, and the public log.

Entries are only ever added; the database refuses to change or delete one. What changes standings, deadlines
or rules carries a sentence for the log that everybody reads. Entries name teams and people by id and are read
with the names of now: who deletes an account, or gets another name, is not kept here under the old one.
"""

import getpass
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Self

from sqlalchemy import Select, func, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import AuditEntry, Competition, Team, User
from grader.models.competitions import DELETED
from grader.services.paging import PAGE_SIZE, Page, Part, Slice, page_of_query, slice_of_query
from grader.text import one_line, plain_text

# Read after the name of who acted; `{}` is the entry's subject.
WORDS = {
    "accounts.create": "created {} for a class",
    "administrator.make": "made {} an administrator of the site",
    "administrator.unmake": "removed {} as an administrator of the site",
    "announcement.edit": "edited {}",
    "announcement.post": "posted {}",
    "announcement.withdraw": "withdrew {}",
    "bundle.start": "created the {}",
    "competition.archive": "archived {}",
    "competition.change": "changed the {}",
    "competition.clone": "created {} as a copy of another",
    "competition.create": "created {}",
    "competition.delete": "deleted {}",
    "competition.finalize": "made the standings of {} final",
    "competition.publish": "published {}",
    "competition.reveal": "revealed the private leaderboard of {}",
    "competition.unarchive": "unarchived {}",
    "data.allow": "released the {} although it was held back",
    "data.hold": "holds the {} back",
    "data.remove": "removed the {}",
    "data.upload": "uploaded the {}",
    "diagnosis.publish": "published the diagnosis of {}",
    "diagnosis.start": "diagnosed {}",
    "dispute.answer": "answered a question about {}",
    "entry.admit": "admitted {}",
    "entry.refuse": "refused {}",
    "fair_play.mark": "looked at {} for fair play and found nothing wrong",
    "fair_play.start": "looked at the submissions for fair play, under {}",
    "figure.remove": "removed the {}",
    "figure.upload": "uploaded the {}",
    "grant.give": "gave extra submissions to {}",
    "organizer.add": "added {}",
    "organizer.change": "changed the role of {}",
    "organizer.remove": "removed {}",
    "rescoring.drop": "cancelled the preparation of {}",
    "rescoring.prepare": "started to prepare {}",
    "rescoring.publish": "published {}",
    "rescoring.roll_back": "rolled back to {}",
    "selection.reopen": "reopened the {}",
    "solution.accept": "accepted {}",
    "solution.check": "uploaded a solution, for {}",
    "solution.publish": "published {} to everybody",
    "submission.benchmark": "added {} as a benchmark",
    "submission.mark": "changed the kind of {}",
    "submission.retry": "retried {}",
    "submissions.pause": "paused {}",
    "submissions.resume": "resumed {}",
    "team.disqualify": "disqualified {}",
    "team.free_name": "allowed {} to choose its name",
    "team.reinstate": "reinstated {}",
    "team.rename": "renamed {}",
    "ties.publish": "published which teams are tied, under {}",
    "ties.start": "compared neighbouring teams on the leaderboards, under {}",
    "verification.start": "verified the competing submissions, under {}",
    "webhook.change": "changed {}",
    "webhook.create": "created {}",
    "webhook.delete": "deleted {}",
    "webhook.rotate": "gave a new secret to {}",
}
ORIGIN_MAX_LENGTH = 64
_MENTION = re.compile(r"\[(team|person) (\d{1,9})\]")


class UnknownAction(ValueError):
    """An act without words: nobody could read it in the audit."""

    def __init__(self, action: str) -> None:
        super().__init__(f"The audit has no words for the action {action!r}.")


def require_known(action: str) -> None:
    """Raise UnknownAction for an action without words."""
    if action not in WORDS:
        raise UnknownAction(action)


def action_label(action: str) -> str:
    """Return the words of an action without a subject, to choose it by."""
    return action_told(action, "…")


def action_told(action: str, subject: str) -> str:
    """Return what was done, to follow the name of who did it: ``renamed team Foxes``."""
    words = WORDS.get(action)  # an act of an older version may be known no more
    return f"{action}: {subject}" if words is None else words.replace("{}", subject)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: a person through `origin`, or nobody with an account, whom `origin` names."""

    user: User | None
    origin: str

    @classmethod
    def of(cls, user: User) -> Self:
        """Return a person who acts on the pages."""
        return cls(user, "web")

    @classmethod
    def shell(cls) -> Self:
        """Return the actor for commands in the shell."""
        return cls(None, f"shell ({operator()})"[:ORIGIN_MAX_LENGTH])

    @classmethod
    def calendar(cls) -> Self:
        """Return the calendar, the actor of automatic actions."""
        return cls(None, "calendar")

    @property
    def name(self) -> str:
        """Who it is, in a word: the person's name, or the origin."""
        return self.user.name if self.user else self.origin


@dataclass(frozen=True, slots=True)
class AuditPage(Page[AuditEntry]):
    """A page of entries, newest first; `told` returns their texts with current names."""

    names: Mapping[str, str]

    def told(self, text: str) -> str:
        """Return a text of an entry with the names of the teams and people that it mentions."""
        return told(text, self.names)

    def sentence(self, entry: AuditEntry) -> str:
        """Return what was done, to follow the name of who did it."""
        return action_told(entry.action, self.told(entry.subject))


def mention(who: Team | User) -> str:
    """Return the placeholder of a team or a person in an entry's text."""
    return f"[{'team' if isinstance(who, Team) else 'person'} {who.id}]"


def record(
    session: Session,
    *,
    competition: Competition | None,
    actor: Actor,
    action: str,
    subject: str,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    reason: str = "",
    public_text: str = "",
    now: datetime,
) -> AuditEntry:
    """Add what somebody did; of `before` and `after` only what differs is kept.

    `action` is `noun.verb`, one of `audit_actions`. With a `public_text` the act stands in the public log. An
    act on the site as a whole has no competition. Raises UnknownAction.
    """
    require_known(action)
    given = [*(before or {}).items(), *(after or {}).items()]
    times = sorted({name for name, value in given if isinstance(value, datetime)})
    before, after = _differing(_stored(before or {}), _stored(after or {}))
    entry = AuditEntry(
        competition_id=competition.id if competition else None,
        at=now,
        actor_id=actor.user.id if actor.user else None,
        origin=actor.origin[:ORIGIN_MAX_LENGTH],
        action=action,
        subject=one_line(subject, 200),
        before=before,
        after=after,
        times=times,
        reason=plain_text(reason),
        is_public=bool(public_text),
        public_text=plain_text(public_text),
    )
    session.add(entry)
    session.flush()
    return entry


def list_page(
    session: Session, *, competition: Competition | None, action: str = "", person: str = "", page: int = 1
) -> AuditPage:
    """Return a page of a competition's audit, the newest first; with None that of the site.

    The site's holds the acts that belong to no competition, and those of drafts that were deleted since.
    `action` is a whole action or its noun, `person` the name of an account or an origin without one.
    """
    query = _wanted(competition, action, person)
    return _page(session, query, page=page, page_size=PAGE_SIZE)


def list_after(
    session: Session, *, competition: Competition | None, action: str = "", person: str = "", part: Part
) -> tuple[Slice[AuditEntry], dict[str, str]]:
    """Return a part of the entries that `list_page` lists, the newest first, and the names for `told`."""
    query = _wanted(competition, action, person).options(joinedload(AuditEntry.actor))
    found = slice_of_query(session, query, key=AuditEntry.__table__.c.id, part=part)
    return found, names(session, found.rows)


def public_page(session: Session, *, competition: Competition, page: int = 1) -> AuditPage:
    """Return a page of what everybody may read, the newest first."""
    query = select(AuditEntry).where(AuditEntry.competition_id == competition.id, AuditEntry.is_public)
    return _page(session, query, page=page, page_size=PAGE_SIZE)


def public_slice(session: Session, *, competition: Competition, part: Part) -> Slice[tuple[AuditEntry, str]]:
    """Return a part of the entries that everybody may read, the newest first, with their texts."""
    query = select(AuditEntry).where(AuditEntry.competition_id == competition.id, AuditEntry.is_public)
    key = AuditEntry.__table__.c.id
    found = slice_of_query(session, query, key=key, part=part)
    known = names(session, found.rows)
    return found.with_rows((each, told(each.public_text, known)) for each in found.rows)


def actions(session: Session, *, competition: Competition) -> list[str]:
    """Return the actions that a competition's audit holds, by name."""
    query = select(AuditEntry.action).where(AuditEntry.competition_id == competition.id).distinct()
    return sorted(session.scalars(query))


def people(session: Session, *, competition: Competition) -> list[str]:
    """Return who acted in a competition: names of accounts, and origins without one."""
    query = (
        select(func.coalesce(User.name, AuditEntry.origin))
        .select_from(AuditEntry)
        .outerjoin(AuditEntry.actor)
        .where(AuditEntry.competition_id == competition.id)
        .distinct()
    )
    return sorted(session.scalars(query))


def operator() -> str:
    """Return the operating system's user name of this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # containers run under ids without a name
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


def _page(session: Session, query: Select[AuditEntry], *, page: int, page_size: int) -> AuditPage:
    query = query.options(joinedload(AuditEntry.actor)).order_by(AuditEntry.id.desc())
    found = page_of_query(session, query, page=page, page_size=page_size)
    return AuditPage(found.rows, found.page, found.page_count, found.count, names(session, found.rows))


def told(text: str, names: Mapping[str, str]) -> str:
    """Return a text of an entry with names in place of what mentions teams and people."""
    return _MENTION.sub(lambda found: names.get(found[0], found[0]), text)


def names(session: Session, entries: Iterable[AuditEntry]) -> dict[str, str]:
    """Return the names of the teams and people that entries mention, by the mention."""
    ids: dict[str, set[int]] = {"team": set(), "person": set()}
    for entry in entries:
        for kind, number in _MENTION.findall(f"{entry.subject} {entry.public_text}"):
            ids[kind].add(int(number))
    teams = session.execute(select(Team.id, Team.name).where(Team.id.in_(ids["team"]))).all()
    people = session.execute(select(User.id, User.name).where(User.id.in_(ids["person"]))).all()
    return {f"[team {id_}]": name for id_, name in teams} | {f"[person {id_}]": name for id_, name in people}


def _differing(before: dict[str, Any], after: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Leave out the fields that are the same before and after."""
    same = {name for name in before.keys() & after.keys() if before[name] == after[name]}
    return (
        {name: value for name, value in before.items() if name not in same},
        {name: value for name, value in after.items() if name not in same},
    )


def _stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as JSON holds them: times in ISO 8601, enums by value."""
    return {name: _stored_value(value) for name, value in values.items()}


def _stored_value(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case Enum():
            return value.value
        case Mapping():
            return _stored(value)
        case str():
            return value.replace("\0", "")
        case None | bool() | int() | float():
            return value
        case list() | tuple() | set() | frozenset():
            return [_stored_value(each) for each in value]
        case _:
            return str(value)
