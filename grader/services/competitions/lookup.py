"""Competitions by slug, the list of visible competitions, locks, allowed slugs."""

import re

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import (
    Competition,
    ScoringVersion,
)
from grader.models.competitions import DELETED

RESERVED_SLUGS = frozenset({"list", "data", "submissions", "submission-url", "new"})

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


class NoScoringVersion(ParticipantError):
    """The draft has no solution yet."""

    public_name = "no_scoring_version"
    message = "This competition has no solution yet: there is nothing to score with."


class UnknownCompetition(ParticipantError):
    """No competition has this slug."""

    public_name = "unknown_competition"
    kind = ErrorKind.NOT_FOUND
    message = "There is no competition {slug!r}."


def slug_problems(session: Session, slug: str) -> list[str]:
    """Return the reasons why a new competition cannot have a slug."""
    if problem := slug_fault(slug):
        return [problem]
    if session.scalar(select(Competition.id).where(Competition.slug == slug)) is not None:
        return [slug_is_taken(slug)]
    return []


def slug_fault(slug: str) -> str:
    """Return the reason why no competition can have a slug; empty if one can."""
    if not _SLUG.fullmatch(slug):
        return (
            f"The slug {slug!r} must be 1 to 40 lower-case letters, digits and hyphens, "
            "with a letter or digit at both ends."
        )
    return f"The slug {slug!r} is reserved." if slug in RESERVED_SLUGS else ""


def slug_is_taken(slug: str) -> str:
    """Return the sentence that another competition has a slug."""
    return f"There already is a competition {slug!r}."


def get(session: Session, *, slug: str) -> Competition:
    """Return a competition with its live scoring version and solution; raise UnknownCompetition."""
    competition = session.scalar(with_slug(slug))
    if competition is None:
        raise UnknownCompetition(slug=slug)
    return competition


def with_slug(slug: str) -> Select[Competition]:
    """Return the query of `get`; raise UnknownCompetition for an impossible slug."""
    if not _SLUG.fullmatch(slug):
        raise UnknownCompetition(slug=slug)
    return _loaded().where(Competition.slug == slug)


def list_all(session: Session) -> list[Competition]:
    """Return all competitions, newest first."""
    query = _loaded().where(~Competition.slug.startswith(DELETED))
    return list(session.scalars(query.order_by(Competition.created_at.desc(), Competition.id.desc())))


def lock(session: Session, *, competition_id: int) -> Competition:
    """Reload a competition and lock it until the transaction ends; raise UnknownCompetition if deleted."""
    mine = Competition.id == competition_id
    session.execute(_locking(mine))
    # Load after locking: joined rows read while waiting for the lock may be of the previous live version.
    found = session.scalars(_loaded().where(mine).execution_options(populate_existing=True)).one()
    if found.slug.startswith(DELETED):
        raise UnknownCompetition(slug=found.slug)
    return found


def hold(session: Session, *, slug: str) -> None:
    """Keep others from changing a competition until the transaction ends; raise UnknownCompetition.

    For a caller that reads the competition afterwards together with other rows.
    """
    if session.scalar(_locking(Competition.slug == slug)) is None:
        raise UnknownCompetition(slug=slug)


def live(competition: Competition) -> ScoringVersion:
    """Return the live scoring version; raise NoScoringVersion."""
    if competition.live_scoring_version is None:
        raise NoScoringVersion
    return competition.live_scoring_version


def _locking(condition: ColumnElement[bool]) -> Select[int]:
    return select(Competition.id).where(condition).with_for_update(of=Competition, key_share=True)


def _loaded() -> Select[Competition]:
    return select(Competition).options(
        joinedload(Competition.live_scoring_version).joinedload(ScoringVersion.solution)
    )
