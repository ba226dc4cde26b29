"""`Act`: session, locked competition, actor and time of an action."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader import db
from grader.models import AuditEntry, Competition, User
from grader.services.competitions import lookup
from grader.services.site import log
from grader.services.site.log import Actor
from grader.text import one_line, plain_text


@dataclass(frozen=True, slots=True)
class Act:
    """The context of an action on a locked competition."""

    session: Session
    competition: Competition
    actor: Actor
    now: datetime

    @property
    def user(self) -> User:
        """The acting user. Raise TypeError for the shell and scheduled tasks."""
        if self.actor.user is None:
            raise TypeError("This action requires a user.")
        return self.actor.user

    @property
    def parts(self) -> dict[str, Any]:
        """The fields by name, for services that accept them as keyword arguments."""
        return {
            "session": self.session,
            "competition": self.competition,
            "actor": self.actor,
            "now": self.now,
        }

    def record(
        self,
        action: str,
        subject: str,
        *,
        before: Mapping[str, Any] | None = None,
        after: Mapping[str, Any] | None = None,
        reason: str = "",
        public_text: str = "",
    ) -> None:
        """Flush the changes and add an entry to the audit log.

        `action` is a noun and a verb, such as `team.rename`. Only the fields that differ between `before` and
        `after` are stored.
        With a `public_text`, the entry also appears in the public log.
        """
        self.session.flush()
        old, new, times = log.changes(before, after)
        entry = AuditEntry(
            competition_id=self.competition.id if self.competition else None,
            at=self.now,
            actor_id=self.actor.user.id if self.actor.user else None,
            origin=self.actor.origin[: log.ORIGIN_MAX_LENGTH],
            action=action,
            subject=one_line(subject, 200),
            before=old,
            after=new,
            times=times,
            reason=plain_text(reason),
            is_public=bool(public_text),
            public_text=plain_text(public_text),
        )
        self.session.add(entry)
        self.session.flush()


def of_site(session: Session, actor: Actor, now: datetime) -> Act:
    """Return the context of an action without a competition, such as one on an account."""
    return Act(session, None, actor, now)  # type: ignore[arg-type]


def begin(session: Session, *, competition: Competition, actor: Actor, now: datetime | None = None) -> Act:
    """Lock a competition and return the context of an action on it.

    Unless `now` is given, the time is read under the lock. Otherwise, an action that waited for the lock
    could use a time before a deadline that has passed meanwhile.
    """
    locked = lookup.lock(session, competition_id=competition.id)
    return Act(session, locked, actor, now or db.now(session))
