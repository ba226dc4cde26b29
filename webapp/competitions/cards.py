"""The list of competitions as cards: figures, one line, and where the person who looks has got to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import g

from grader.models import Competition
from grader.services.leaderboards import glance
from grader.services.leaderboards.glance import Figures
from grader.services.limits import limits
from grader.services.teams import rosters
from grader.services.teams.waiting import Waiting
from webapp.competitions.views import CompetitionView
from webapp.http import waiting

GROUPS = {
    "open": "Running",
    "scheduled": "Soon",
    "draft": "Drafts",
    "closed": "Over",
    "revealed": "Over",
    "archived": "Archived",
}


@dataclass(frozen=True, slots=True)
class Card:
    """A competition in the list; `rank`, `left` and `is_own` are of the team of the person who looks."""

    competition: CompetitionView
    figures: Figures
    is_own: bool
    rank: int | None
    left: int | None
    waiting: tuple[Waiting, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Cards of competitions in one state."""

    name: str
    cards: Sequence[Card]


def read(session: Any, competitions: Sequence[Competition], now: datetime) -> list[Group]:
    """Return the cards of a page in their groups, with as many queries for one as for a hundred."""
    figures = glance.figures(session, competitions=competitions, now=now)
    teams = rosters.team_ids(session, user=g.user) if g.user is not None else {}
    ranks = glance.own_ranks(session, competitions=competitions, team_ids=teams, now=now)
    views = {each.id: CompetitionView(each, now) for each in competitions}
    running = [each for each in competitions if views[each.id].is_open]
    left = limits.left_of_teams(session, competitions=running, team_ids=teams, now=now)
    items = waiting.items()
    cards = (
        Card(
            competition=views[each.id],
            figures=figures[each.id],
            is_own=each.id in teams,
            rank=ranks.get(each.id),
            left=left.get(each.id),
            waiting=tuple(item for item in items if item.slug == each.slug),
        )
        for each in competitions
    )
    return _grouped(cards)


def _grouped(cards: Iterable[Card]) -> list[Group]:
    found: dict[str, list[Card]] = {}
    for card in cards:
        found.setdefault(GROUPS[card.competition.state], []).append(card)
    return [Group(name, each) for name, each in found.items()]
