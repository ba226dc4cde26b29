"""Webhook events for changed ranks and upcoming deadlines.

A scheduled task compares the current ranks with the last reported ones: a team's own rank for its webhooks,
and the first hundred for organizers'. A webhook receives at most one rank event every five minutes. A
deadline event is sent a day before the close, and again if the close is moved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import Competition, CompetitionState, Split, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.standings.ranks import Standings
from grader.services.webhook_outbox import Event

DEADLINE_WITHIN = timedelta(hours=24)
PERIOD = timedelta(minutes=5)
PLACES = 100  # ranks reported to organizers


def is_deadline_near(session: Session, *, now: datetime) -> bool:
    """Return whether `tell_deadlines` would write an event."""
    query = select(Webhook.id).join(Webhook.competition).where(_is_near(now)).limit(1)
    return session.scalar(query) is not None


def tell_deadlines(session: Session, *, now: datetime) -> None:
    """Write deadline events for webhooks that have not yet received one for the current close."""
    query = select(Webhook).join(Webhook.competition).where(_is_near(now)).order_by(Webhook.id)
    webhooks: Sequence[Webhook] = session.scalars(
        query.options(joinedload(Webhook.competition)).with_for_update(key_share=True, of=Webhook)
    ).all()
    for webhook in webhooks:
        closes_at = webhook.competition.closes_at
        webhook.deadline_told = closes_at
        if closes_at is not None and Event.DEADLINE.value in webhook.events:
            details = {"closes_at": closes_at.astimezone(UTC).isoformat().replace("+00:00", "Z")}
            outbox.write(session, webhook_ids=[webhook.id], event=Event.DEADLINE, details=details, now=now)
    session.flush()


def _is_near(now: datetime) -> ColumnElement[bool]:
    return and_(
        Webhook.off_at.is_(None),
        or_(Webhook.deadline_told.is_(None), Webhook.deadline_told != Competition.closes_at),
        Competition.state == CompetitionState.PUBLISHED,
        Competition.opens_at <= now,
        Competition.closes_at > now,
        Competition.closes_at <= now + DEADLINE_WITHIN,
    )


@dataclass(frozen=True, slots=True)
class Look:
    """The current ranks for a webhook; `changes` is empty if there is nothing to report."""

    webhook_id: int
    told_at: datetime | None
    ranks: dict[str, Any]
    changes: list[dict[str, int | None]]


def look_at_ranks(session: Session, *, now: datetime) -> list[Look]:
    """Return the current ranks for webhooks whose ranks have changed or were never recorded."""
    query = (
        select(Webhook)
        .join(Webhook.competition)
        .where(_are_ranks_due(now), Competition.live_scoring_version_id.is_not(None))
        .options(joinedload(Webhook.competition))
        .order_by(Webhook.competition_id, Webhook.id)
    )
    due: dict[Competition, list[Webhook]] = {}
    for webhook in session.scalars(query):
        if Event.RANK_CHANGED.value in webhook.events:
            due.setdefault(webhook.competition, []).append(webhook)
    rows = (
        _look_at(competition, webhook, ranks)
        for competition, webhooks in due.items()
        for ranks in [_ranks(session, competition)]
        for webhook in webhooks
    )
    return [each for each in rows if each is not None]


def tell_ranks(session: Session, *, looks: Sequence[Look], now: datetime) -> int:
    """Write the rank events that no other process has written yet; return their number."""
    by_webhook = {each.webhook_id: each for each in looks}
    locked = session.scalars(
        select(Webhook)
        .where(Webhook.id.in_(by_webhook), Webhook.off_at.is_(None))
        .order_by(Webhook.id)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).all()
    count = 0
    for webhook in locked:
        seen = by_webhook[webhook.id]
        if webhook.ranks_told_at != seen.told_at:
            continue
        webhook.ranks = seen.ranks
        if seen.changes:
            webhook.ranks_told_at = now
            details = {"split": seen.ranks["split"], "changes": seen.changes}
            outbox.write(
                session, webhook_ids=[webhook.id], event=Event.RANK_CHANGED, details=details, now=now
            )
            count += 1
    session.flush()
    return count


def _are_ranks_due(now: datetime) -> ColumnElement[bool]:
    return and_(
        Webhook.off_at.is_(None), or_(Webhook.ranks_told_at.is_(None), Webhook.ranks_told_at <= now - PERIOD)
    )


def _ranks(session: Session, competition: Competition) -> Mapping[int, int]:
    version_id = competition.live_scoring_version_id
    if version_id is None:
        return {}
    return Standings(session, version_id, _split(competition)).ranks()


def _split(competition: Competition) -> Split:
    return Split.PUBLIC if competition.revealed_at is None else Split.PRIVATE


def _look_at(competition: Competition, webhook: Webhook, all_ranks: Mapping[int, int]) -> Look | None:
    if webhook.team_id is None:
        ranks = {team_id: rank for team_id, rank in all_ranks.items() if rank <= PLACES}
    else:
        ranks = {webhook.team_id: all_ranks[webhook.team_id]} if webhook.team_id in all_ranks else {}
    split = _split(competition).value
    seen = {"split": split, "ranks": {str(team_id): rank for team_id, rank in ranks.items()}}
    before = webhook.ranks
    if before is None or before["split"] != split:  # The reveal has its own event.
        return Look(webhook.id, webhook.ranks_told_at, seen, [])
    changes: list[dict[str, int | None]] = [
        {"team_id": team_id, "rank": rank, "previous_rank": before["ranks"].get(str(team_id))}
        for team_id, rank in sorted(ranks.items(), key=lambda each: each[1])
        if before["ranks"].get(str(team_id)) != rank
    ]
    if changes:
        return Look(webhook.id, webhook.ranks_told_at, seen, changes)
    return None if before == seen else Look(webhook.id, webhook.ranks_told_at, seen, [])
