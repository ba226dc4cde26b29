"""What a competition's home shows besides its texts: the leaderboard at a glance, dates, the next step."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import g

from grader.charts.strip import StripChart, strip_chart
from grader.models import Competition
from grader.services.leaderboards import glance
from grader.services.leaderboards.glance import Glance
from grader.services.submissions import selections, situation
from grader.services.submissions.situation import Situation
from grader.services.teams import participations
from grader.services.teams.participations import EntryState
from webapp.competitions import next_step, timeline
from webapp.competitions.next_step import NextStep
from webapp.competitions.timeline import Moment
from webapp.competitions.views import CompetitionView


@dataclass(frozen=True, slots=True)
class Home:
    """A competition's home as one person sees it."""

    board: Glance
    strip: StripChart | None
    step: NextStep
    moments: list[Moment]
    entry: EntryState
    has_joined: bool
    own_team_id: int | None
    own_avatar_key: str | None


def read(session: Any, competition: Competition, view: CompetitionView, now: datetime) -> Home:
    """Return the home of a competition for the current user; `competition_of` came before."""
    found: Situation | None = None
    if g.user is not None:
        found = situation.read(session, competition=competition, user=g.user, now=now)
    team = found.team if found is not None and not found.is_test else None
    board = glance.of(session, competition=competition, team=team, now=now)
    own = board.own.score_units if board.own else None
    entry = participations.state(competition, found.participation if found else None)
    return Home(
        board=board,
        strip=strip_chart(board.scores, own=own, decimals=board.decimals),
        step=_step(session, view, found),
        moments=timeline.of(competition, now),
        entry=entry,
        has_joined=entry is EntryState.JOINED,
        own_team_id=team.id if team else None,
        own_avatar_key=team.avatar_key if team else None,
    )


def _step(session: Any, view: CompetitionView, found: Situation | None) -> NextStep:
    if found is None:
        return next_step.of_stranger(view)
    choice = None
    if view.has_solution and found.team is not None and next_step.wants_choice(view, found):
        choice = selections.would_count(
            session, competition=found.competition, team=found.team, now=found.now
        )
    return next_step.of_person(view, found, choice)
