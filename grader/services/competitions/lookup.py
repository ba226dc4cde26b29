"""Competition lookup, locking and slugs."""

import re
from collections.abc import Collection
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, select
from sqlalchemy.orm import Session, aliased, joinedload, with_expression

from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import (
    Competition,
    ScoringVersion,
)
from grader.models.competitions import DELETED

RESERVED_SLUGS = frozenset({"list", "data", "submissions", "submission-url", "new"})

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")


class UnknownCompetition(ParticipantError):
    """No competition has this slug."""

    public_name = "unknown_competition"
    kind = ErrorKind.NOT_FOUND
    message = "There is no competition {slug!r}."


def require_division(name: str | None, names: Collection[str]) -> None:
    """Raise Refusal for a division that is not among these names."""
    if name is not None and name not in names:
        known = ", ".join(names) or "none"
        message = f"The division {name!r} is not available here. Use one of these: {known}."
        raise Refusal("unknown_division", ErrorKind.INVALID, message)


def slug_fault(slug: str) -> str:
    """Return the reason why a slug is invalid or reserved, or an empty string."""
    if not _SLUG.fullmatch(slug):
        return (
            f"The slug {slug!r} is invalid. Use 1 to 40 lowercase letters, digits and hyphens, "
            "with a letter or digit at both ends."
        )
    return f"The slug {slug!r} is reserved. Choose another one." if slug in RESERVED_SLUGS else ""


def get(session: Session, *, slug: str) -> Competition:
    """Return a competition with its live scoring version and solution; raise UnknownCompetition."""
    competition: Competition = row_of(session, with_slug(), slug=slug)[0]
    return competition


def row_of(session: Session, query: Select[Any], *, slug: str, **values: Any) -> Any:
    """Return the row of a query that extends `with_slug`; raise UnknownCompetition."""
    row = session.execute(query, {"slug": slug, **values}).one_or_none() if _SLUG.fullmatch(slug) else None
    if row is None:
        raise UnknownCompetition(slug=slug)
    return row


@cache
def with_slug() -> Select[Any]:
    """Return the query for `get`, with the parameter `slug`."""
    return _loaded().where(Competition.slug == bindparam("slug"))


def list_all(session: Session) -> list[Competition]:
    """Return all competitions, newest first."""
    query = _loaded().where(~Competition.slug.startswith(DELETED))
    return list(session.scalars(query.order_by(Competition.created_at.desc(), Competition.id.desc())))


def lock(session: Session, *, competition_id: int) -> Competition:
    """Lock a competition for an action until the transaction ends and reload it; raise UnknownCompetition.

    The act raises the competition's `act_number`.
    """
    mine = Competition.id == competition_id
    session.execute(_locking(mine))
    # If a statement waits for the lock, the rows that it joins could belong to the previous live version.
    competition = session.scalars(_loaded().where(mine).execution_options(populate_existing=True)).one()
    if competition.slug.startswith(DELETED):
        raise UnknownCompetition(slug=competition.slug)
    competition.act_number += 1
    return competition


def hold(session: Session, *, slug: str) -> None:
    """Lock a competition by slug without loading it; raise UnknownCompetition.

    Use this before a statement that reads the competition together with other rows.
    """
    if session.scalar(_locking(Competition.slug == slug)) is None:
        raise UnknownCompetition(slug=slug)


def stages(session: Session, *, competition: Competition) -> list[Competition]:
    """Return the stages of a competition's title in order; the last one may be a draft."""
    chain = [competition]
    while (previous_id := chain[0].previous_stage_id) is not None:
        chain.insert(0, session.get_one(Competition, previous_id))
    while after := session.scalar(select(Competition).where(Competition.previous_stage_id == chain[-1].id)):
        chain.append(after)
    return chain


def live(competition: Competition) -> ScoringVersion:
    """Return the live scoring version; raise Refusal."""
    if competition.live_scoring_version is None:
        message = "This competition has no solution yet, so files cannot be scored."
        raise Refusal("no_scoring_version", ErrorKind.INVALID, message)
    return competition.live_scoring_version


def _locking(condition: ColumnElement[bool]) -> Select[int]:
    return select(Competition.id).where(condition).with_for_update(of=Competition, key_share=True)


@cache  # every request uses it, and an alias of the table copies all columns
def _loaded() -> Select[Competition]:
    after = aliased(Competition)
    next_stage_id = select(after.id).where(after.previous_stage_id == Competition.id).scalar_subquery()
    return select(Competition).options(
        joinedload(Competition.live_scoring_version).joinedload(ScoringVersion.solution),
        with_expression(Competition.next_stage_id, next_stage_id),
    )
