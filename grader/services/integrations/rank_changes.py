"""Changes of rank for webhooks: at most one event for a webhook in five minutes, whatever happened between.

Nothing is written when a score comes in. Every now and then the ranks of now are compared with those that
were told last: a team's own one, and for organizers the first hundred.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.models import Competition, Split, Webhook
from grader.services.standings.places import Standings
from grader.services.webhooks import outbox
from grader.services.webhooks.outbox import Event

PERIOD = timedelta(minutes=5)
PLACES = 100  # of a leaderboard, for organizers


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of the ranks for one webhook; `changes` is empty where there is nothing to tell."""

    webhook_id: int
    told_at: datetime | None
    ranks: dict[str, Any]
    changes: list[dict[str, int | None]]


def look(session: Session, *, now: datetime) -> list[Look]:
    """Return for which webhooks ranks have changed since they were told, or have not been looked at yet."""
    query = (
        select(Webhook)
        .join(Webhook.competition)
        .where(_is_due(now), Competition.live_scoring_version_id.is_not(None))
        .options(joinedload(Webhook.competition))
        .order_by(Webhook.competition_id, Webhook.id)
    )
    due: dict[Competition, list[Webhook]] = {}
    for webhook in session.scalars(query):
        if Event.RANK_CHANGED.value in webhook.events:
            due.setdefault(webhook.competition, []).append(webhook)
    found = (
        _look_at(competition, webhook, ranks)
        for competition, webhooks in due.items()
        for ranks in [_ranks(session, competition)]
        for webhook in webhooks
    )
    return [each for each in found if each is not None]


def tell(session: Session, *, looks: Sequence[Look], now: datetime) -> int:
    """Write the events of what was seen, unless another process did since; return how many."""
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


def _is_due(now: datetime) -> ColumnElement[bool]:
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
    if before is None or before["split"] != split:  # the reveal has an event of its own
        return Look(webhook.id, webhook.ranks_told_at, seen, [])
    changes: list[dict[str, int | None]] = [
        {"team_id": team_id, "rank": rank, "previous_rank": before["ranks"].get(str(team_id))}
        for team_id, rank in sorted(ranks.items(), key=lambda each: each[1])
        if before["ranks"].get(str(team_id)) != rank
    ]
    if changes:
        return Look(webhook.id, webhook.ranks_told_at, seen, changes)
    return None if before == seen else Look(webhook.id, webhook.ranks_told_at, seen, [])
