"""Publish a draft competition, with the rules on what it must have; archive and unarchive it.

Scheduled, open and closed follow from the time; the reveal is a step of the close, see `closing`.
"""

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy.orm import Session

from grader import db
from grader.errors import OrganizerError
from grader.models import Competition, CompetitionState
from grader.services.audit import log
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, usual_dates
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.phases import Archived
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import Fault, problems, sentences
from grader.services.data_files import release

SOLUTION = "solution"


class AlreadyPublished(OrganizerError):
    """Only a draft is published."""

    public_name = "already_published"

    def __init__(self, competition: Competition) -> None:
        super().__init__(f"{competition.slug} is published already.")


class NotReady(OrganizerError):
    """A draft lacks what a published competition needs; `missing` has one sentence for each."""

    public_name = "not_ready"

    def __init__(self, missing: Iterable[str]) -> None:
        self.missing = tuple(missing)
        super().__init__("\n".join(self.missing))


class NotArchivable(OrganizerError):
    """A draft was never there for others: it has nothing to archive."""

    public_name = "not_archivable"

    def __init__(self) -> None:
        super().__init__("Only a published competition can be archived; this one is a draft.")


class NotArchived(OrganizerError):
    """Only an archived competition comes back from the archive."""

    public_name = "not_archived"

    def __init__(self, competition: Competition) -> None:
        super().__init__(f"{competition.slug} is not archived.")


def missing(competition: Competition, *, now: datetime) -> list[Fault]:
    """Return everything that keeps a draft from being published, about settings or the `SOLUTION`."""
    found = []
    if competition.live_scoring_version is None:
        found.append(
            Fault("The solution is missing: upload it, look at its report and accept it.", (SOLUTION,))
        )
    return found + unpublishable(competition_settings.of(competition), now=now)


def unpublishable(settings: CompetitionSettings, *, now: datetime) -> list[Fault]:
    """Return what keeps a draft with these settings from being published."""
    found = []
    closes_at = settings.closes_at
    if closes_at is not None and closes_at <= now:
        found.append(
            Fault(f"The close must lie ahead; it is {closes_at:%Y-%m-%d %H:%M} UTC.", ("closes_at",))
        )
    as_published = settings.changed(opens_at=settings.opens_at or now)
    return found + problems(as_published, is_draft=False)


def publish(
    session: Session, *, competition: Competition, actor: Actor, now: datetime | None = None
) -> Competition:
    """Show a draft to everybody; it opens at its time, else at once. Dates that nobody gave follow.

    Raises AlreadyPublished, and NotReady with everything that is missing.
    """
    competition, now = _lock(session, competition, now)
    if competition.state is not CompetitionState.DRAFT:
        raise AlreadyPublished(competition)
    lacking = [*missing(competition, now=now), *release.faults(session, competition=competition)]
    if lacking:
        raise NotReady(sentences(lacking))
    competition.opens_at = competition.opens_at or now
    usual_dates.fill_in(competition)
    _change(
        session,
        competition,
        CompetitionState.PUBLISHED,
        actor,
        "competition.publish",
        "The competition was published.",
        now,
    )
    return competition


def archive(
    session: Session,
    *,
    competition: Competition,
    actor: Actor,
    reason: str = "",
    now: datetime | None = None,
) -> Competition:
    """Put a competition away: it stays readable and takes no files any more.

    Raises NotArchivable, Archived.
    """
    competition, now = _lock(session, competition, now)
    if competition.state is CompetitionState.DRAFT:
        raise NotArchivable
    if competition.state is CompetitionState.ARCHIVED:
        raise Archived
    told = "The competition was archived."
    archived = CompetitionState.ARCHIVED
    _change(session, competition, archived, actor, "competition.archive", told, now, reason=reason)
    return competition


def unarchive(
    session: Session,
    *,
    competition: Competition,
    actor: Actor,
    reason: str = "",
    now: datetime | None = None,
) -> Competition:
    """Bring a competition back from the archive to the state it had; raise NotArchived."""
    competition, now = _lock(session, competition, now)
    if competition.state is not CompetitionState.ARCHIVED:
        raise NotArchived(competition)
    state = CompetitionState.REVEALED if competition.revealed_at else CompetitionState.PUBLISHED
    told = "The competition came back from the archive."
    _change(session, competition, state, actor, "competition.unarchive", told, now, reason=reason)
    return competition


def _lock(session: Session, competition: Competition, now: datetime | None) -> tuple[Competition, datetime]:
    competition = lookup.lock(session, competition_id=competition.id)
    return competition, now or db.now(session)


def _change(
    session: Session,
    competition: Competition,
    state: CompetitionState,
    actor: Actor,
    action: str,
    told: str,
    now: datetime,
    *,
    reason: str = "",
) -> None:
    before, competition.state = competition.state, state
    session.flush()
    log.record(
        session,
        competition=competition,
        actor=actor,
        action=action,
        subject=f"competition {competition.slug}",
        before={"state": before},
        after={"state": state},
        reason=reason,
        public_text=told,
        now=now,
    )
