"""Leaderboard summary: team count, best score, top teams, all scores, the viewer's rank.

Everyone sees the same summary: before the reveal, of the public leaderboard in the competition's feedback
mode; afterwards, of the private one. In blind mode, it contains only the number of teams until the reveal.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.models import (
    STANDING_ORDER,
    Competition,
    ScoringVersion,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
    on_board,
)
from grader.ranking.order import SCALE, Scale
from grader.services.competitions import phases, team_names
from grader.services.leaderboards import shown_scores
from grader.services.leaderboards.ranks import Standings, is_on, ranks_on
from grader.visibility import Field, Phase, Viewer, visible

TOP = 5


@dataclass(frozen=True, slots=True)
class TopTeam:
    """One of the top teams."""

    rank: int
    team_id: int
    team: str
    score: str


@dataclass(frozen=True, slots=True)
class OwnRank:
    """The viewer's rank; `gap` is the score difference to the team above, or None for the first.

    `division_rank` is the rank inside the team's division, if it has one.
    """

    submission_id: int
    rank: int
    score: str
    gap: str | None
    division_rank: int | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """Summary of a leaderboard; `best` is None if no score is visible."""

    team_count: int = 0
    best: str | None = None
    split: Split = Split.PUBLIC
    scale: Scale = SCALE
    top: Sequence[TopTeam] = ()
    own: OwnRank | None = None


Keep = Callable[[str, Callable[[], Glance]], Glance]


def shown_split(competition: Competition, now: datetime) -> Split | None:
    """Return the split of the publicly visible leaderboard at `now`; None if scores are hidden."""
    phase = phases.phase(competition, now)
    if phase is Phase.REVEALED:
        return Split.PRIVATE
    shows = visible(Field.PUBLIC_SCORE, Viewer.PUBLIC, phase, competition.feedback)
    return Split.PUBLIC if shows else None


def of(
    session: Session,
    *,
    competition: Competition,
    team: Team | None,
    now: datetime,
    viewer: Viewer = Viewer.PUBLIC,
    keep: Keep = lambda _key, read: read(),
) -> Glance:
    """Return the summary of a leaderboard, from the cache if possible, with the present rank of a team."""
    glance = keep("glance", lambda: _of(session, competition, now, viewer))
    version_id = competition.live_scoring_version_id
    if team is None or version_id is None or glance.best is None:
        return glance
    return replace(glance, own=_own(Standings(session, version_id, glance.split), team, glance.scale))


def _of(session: Session, competition: Competition, now: datetime, viewer: Viewer) -> Glance:
    glance = figures(session, competitions=[competition], now=now)[competition.id]
    version_id = competition.live_scoring_version_id
    if version_id is None or glance.best is None:
        return glance
    name = team_names.column(competition, viewer)
    rows = session.execute(
        select(Standing.team_id, name, Standing.score_units)
        .join(Team, Team.id == Standing.team_id)
        .where(*on_board(version_id, glance.split))
        .order_by(*STANDING_ORDER)
        .limit(TOP)
    )
    top = [
        TopTeam(rank, team_id, name, glance.scale.text(units))
        for rank, (team_id, name, units) in enumerate(rows, start=1)
    ]
    return replace(glance, top=top)


def figures(session: Session, *, competitions: Collection[Competition], now: datetime) -> dict[int, Glance]:
    """Return summaries without teams by competition id, in at most two queries."""
    glances = {each.id: Glance() for each in competitions}
    boards = _boards(competitions, now)
    if boards:
        best = (
            select(Standing.scoring_version_id, func.count(), func.max(Standing.score_units))
            .where(is_on(boards))
            .group_by(Standing.scoring_version_id)
            .subquery()
        )
        of_version = {each.live_scoring_version_id: each for each in competitions}
        # The scoring versions are loaded for the scales of their scores.
        rows = session.execute(
            select(ScoringVersion, *best.c).join(best, ScoringVersion.id == best.c.scoring_version_id)
        )
        for _, version_id, count, units in rows:
            each, split = of_version[version_id], boards[version_id]
            scale = shown_scores.scale(each, split)
            glances[each.id] = Glance(count, scale.text(units), split, scale)
    blind = [each.id for each in competitions if shown_split(each, now) is None]
    return glances | {each: Glance(count) for each, count in _sent(session, blind).items()}


def _boards(competitions: Iterable[Competition], now: datetime) -> dict[int, Split]:
    """Return the splits of the publicly visible leaderboards by scoring version."""
    return {
        version_id: split
        for each in competitions
        if (version_id := each.live_scoring_version_id) and (split := shown_split(each, now))
    }


def own_ranks(
    session: Session, *, competitions: Collection[Competition], team_ids: Mapping[int, int], now: datetime
) -> dict[int, int]:
    """Return the teams' public ranks by competition id, in one query."""
    boards = _boards([each for each in competitions if each.id in team_ids], now)
    ranks = ranks_on(session, boards=boards, team_ids=list(team_ids.values()))
    return {competition_id: ranks[team] for competition_id, team in team_ids.items() if team in ranks}


def _sent(session: Session, competition_ids: Collection[int]) -> dict[int, int]:
    """Return the number of teams with a scored submission by competition id."""
    if not competition_ids:
        return {}
    rows = session.execute(
        select(Submission.competition_id, func.count(Submission.team_id.distinct()))
        .join(Team, Team.id == Submission.team_id)
        .join(Competition, Competition.id == Submission.competition_id)
        .where(
            Submission.competition_id.in_(competition_ids),
            Submission.status == SubmissionStatus.SCORED,
            Submission.kind == SubmissionKind.NORMAL,
            Team.disqualified_at.is_(None),
        )
        .group_by(Submission.competition_id)
    )
    return dict(rows.all())


def _own(standings: Standings, team: Team, scale: Scale) -> OwnRank | None:
    ranked = standings.ranked_entry_of(team.id)
    if ranked is None:
        return None
    entry, rank = ranked
    above = standings.above(entry)
    inside = replace(standings, division=team.division)
    return OwnRank(
        submission_id=entry.submission_id,
        rank=rank,
        score=scale.text(entry.score_units),
        gap=scale.size_text(scale.difference(above.score_units, entry.score_units)) if above else None,
        division_rank=inside.rank_of(entry) if team.division else None,
    )
