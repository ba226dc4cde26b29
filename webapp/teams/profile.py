"""Public team profile (page and API)."""

from datetime import datetime

from flask import g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.charts.steps import StepChart, Steps, step_chart
from grader.models import Competition
from grader.ranking.order import Scale
from grader.services.competitions import lookup, phases
from grader.services.competitions.metric import of_version
from grader.services.leaderboards import team_results
from grader.services.leaderboards.lines import ShownRow, term_decimals
from grader.services.leaderboards.team_results import Profile
from grader.services.standings import shown_scores
from grader.services.submissions import comparison
from grader.services.teams import rosters
from webapp.competitions.views import CompetitionView
from webapp.http import api, lookups
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Moment, Score
from webapp.http.responses import conditional
from webapp.http.site import site_link
from webapp.presentation.terms import terms_of
from webapp.teams.pages import blueprint

TAG = "teams"


@blueprint.get("/teams/<int:team_id>")
def profile(slug: str, team_id: int) -> ResponseReturnValue:
    """Show a team that is on the leaderboard."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        found = team_results.get_profile(
            session, competition=competition, team_id=team_id, viewer=lookups.viewer(), now=now
        )
        own = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        own_id = comparison.own_counted(
            session, competition=competition, team=own, phase=phases.phase(competition, now)
        )
        scale, version = shown_scores.scale(competition), lookup.live(competition)
        about, decimals = of_version(version).describe(), term_decimals(version)
    is_own = own is not None and own.id == team_id
    return conditional(
        render_template(
            "teams/profile.html",
            competition=CompetitionView(competition, now),
            team=found,
            is_own=is_own,
            own_counted_id=own_id,
            terms=[
                (term.name, f"{found.public.terms[term.key]:.{decimals}f}")
                for term in terms_of(about)
                if found.public and term.key in found.public.terms
            ],
            chart=_chart(competition, found, now, scale, is_own=is_own),
            history=[(step.submitted_at, scale.text(step.score_units)) for step in reversed(found.steps)],
        )
    )


def _chart(
    competition: Competition,
    found: Profile,
    now: datetime,
    scale: Scale,
    *,
    is_own: bool,
) -> StepChart | None:
    """Return the chart of the best score over time, or None if it never changed."""
    if len(found.steps) < 2 or found.public is None or found.public.rank is None:
        return None
    until = min(now, competition.closes_at) if competition.closes_at else now
    team = Steps(found.public.rank, found.name, is_own, found.steps)
    return step_chart([team], until=until, scale=scale)


class ProfileMember(Answer):
    """A member of a team; `page` is null without a public profile."""

    name: str
    joined_at: Moment
    page: str | None


class ProfileLine(Answer):
    """A team's row on a leaderboard."""

    rank: int | None
    rank_change: int | None
    score: Score
    terms: dict[str, float] | None
    entries: int
    last_submitted_at: Moment


class BestScore(Answer):
    """A new best public score of the team."""

    submitted_at: Moment
    score: Score


class TeamProfile(Answer):
    """A team that is on a leaderboard; `private` is null before the reveal."""

    id: int
    name: str
    since: Moment
    members: list[ProfileMember]
    team_count: int
    public: ProfileLine | None
    private: ProfileLine | None
    history: list[BestScore]


@api.blueprint.get("/competitions/<slug>/teams/<int:team_id>")
@api.operation(None, answers=TeamProfile, tag=TAG)
def team_profile(slug: str, team_id: int) -> TeamProfile:
    """Return the profile of a team on a leaderboard: members, ranks, best scores over time."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        found = team_results.get_profile(
            session, competition=competition, team_id=team_id, viewer=lookups.viewer(), now=now
        )
        scale = competition.scale
    return TeamProfile(
        id=found.team_id,
        name=found.name,
        since=found.since,
        members=[
            ProfileMember(
                name=each.name,
                joined_at=each.joined_at,
                page=each.page_key and site_link("people.profile", key=each.page_key),
            )
            for each in found.members
        ],
        team_count=found.team_count,
        public=_line(found.public),
        private=_line(found.private),
        history=[
            BestScore(submitted_at=step.submitted_at, score=float(scale.text(step.score_units)))
            for step in found.steps
        ],
    )


def _line(row: ShownRow | None) -> ProfileLine | None:
    if row is None:
        return None
    return ProfileLine(
        rank=row.rank,
        rank_change=row.rank_change,
        score=float(row.score),
        terms=dict(row.terms) or None,
        entries=row.entry_count,
        last_submitted_at=row.last_submitted_at,
    )
