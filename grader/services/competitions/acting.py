"""`Act`: session, actor and time of an action on a competition, with the competition locked."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader import db
from grader.models import Competition, User
from grader.services.audit import log
from grader.services.audit.log import Actor
from grader.services.competitions import lookup


@dataclass(frozen=True, slots=True)
class Act:
    """An act on a competition: the actor and the time."""

    session: Session
    competition: Competition
    actor: Actor
    now: datetime

    @property
    def user(self) -> User:
        """The acting person; raise TypeError for the shell and scheduled tasks."""
        if self.actor.user is None:
            raise TypeError("A person has to do this.")
        return self.actor.user

    @property
    def parts(self) -> dict[str, Any]:
        """All of it by name, for services that take the parts one by one."""
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
        """Flush the changes and add an entry to the audit log, as `log.record` describes."""
        self.session.flush()
        log.record(
            self.session,
            competition=self.competition,
            actor=self.actor,
            action=action,
            subject=subject,
            before=before,
            after=after,
            reason=reason,
            public_text=public_text,
            now=self.now,
        )


def begin(session: Session, *, competition: Competition, actor: Actor, now: datetime | None = None) -> Act:
    """Lock a competition and return the act on it.

    The time is read under the lock unless it is given. Otherwise an act could wait for the lock until its
    deadline had passed, or until the competition was settled without it.
    """
    locked = lookup.lock(session, competition_id=competition.id)
    return Act(session, locked, actor, now or db.now(session))


def as_person(session: Session, competition: Competition, user: User, *, now: datetime | None = None) -> Act:
    """Begin an act of a person on the site."""
    return begin(session, competition=competition, actor=Actor.of(user), now=now)
