"""Leaderboard summary: team count, best score, top teams, all scores, the viewer's rank.

Everyone sees the same summary: before the reveal, of the public leaderboard in the competition's feedback
mode; afterwards, of the private one. In blind mode, it contains only the number of teams until the reveal.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import and_, func, or_, select
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
from grader.services.leaderboards.ranks import Standings, ranks_on
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

    `division_rank` is the rank inside the team's division, if it has one. After the reveal, `public_rank` and
    `public_score` are those on the public leaderboard.
    """

    submission_id: int
    rank: int
    score: str
    score_units: int
    gap: str | None
    division_rank: int | None = None
    public_rank: int | None = None
    public_score: str | None = None


@dataclass(frozen=True, slots=True)
class Glance:
    """Summary of a leaderboard; `best` is None if no score is visible."""

    team_count: int
    best: str | None = None
    split: Split = Split.PUBLIC
    top: Sequence[TopTeam] = ()
    own: OwnRank | None = None
    scale: Scale = SCALE


@dataclass(frozen=True, slots=True)
class Figures:
    """The number of teams in a competition and its best public score."""

    team_count: int = 0
    best: str | None = None


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
    split, version_id = shown_split(competition, now), competition.live_scoring_version_id
    found = figures(session, competitions=[competition], now=now)[competition.id]
    if version_id is None or split is None or found.best is None:
        return Glance(found.team_count, split=split or Split.PUBLIC)
    scale, name = shown_scores.scale(competition, split), team_names.column(competition, viewer)
    rows = session.execute(
        select(Standing.team_id, name, Standing.score_units)
        .join(Team, Team.id == Standing.team_id)
        .where(*on_board(version_id, split))
        .order_by(*STANDING_ORDER)
        .limit(TOP)
    )
    top = [
        TopTeam(rank, team_id, name, scale.text(units))
        for rank, (team_id, name, units) in enumerate(rows, start=1)
    ]
    return Glance(found.team_count, found.best, split, top, scale=scale)


def figures(session: Session, *, competitions: Collection[Competition], now: datetime) -> dict[int, Figures]:
    """Return the figures of competitions by competition id, in at most two queries."""
    splits = {each.id: shown_split(each, now) for each in competitions if each.live_scoring_version_id}
    versions = {
        version_id: each
        for each in competitions
        if splits.get(each.id) and (version_id := each.live_scoring_version_id)
    }
    by_competition = {each.id: Figures() for each in competitions}
    boards = [
        and_(*on_board(version_id, split))
        for version_id, each in versions.items()
        if (split := splits[each.id])
    ]
    if boards:
        best = (
            select(Standing.scoring_version_id, func.count(), func.max(Standing.score_units))
            .where(or_(*boards))
            .group_by(Standing.scoring_version_id)
            .subquery()
        )
        # The scoring versions are loaded for the scales of their scores.
        rows = session.execute(
            select(ScoringVersion, *best.c).join(best, ScoringVersion.id == best.c.scoring_version_id)
        )
        for _, version_id, count, units in rows:
            each = versions[version_id]
            scale = shown_scores.scale(each, splits[each.id] or Split.PUBLIC)
            by_competition[each.id] = Figures(count, scale.text(units))
    blind = [competition_id for competition_id, split in splits.items() if split is None]
    for competition_id, count in _sent(session, blind).items():
        by_competition[competition_id] = Figures(count)
    return by_competition


def own_ranks(
    session: Session, *, competitions: Collection[Competition], team_ids: Mapping[int, int], now: datetime
) -> dict[int, int]:
    """Return the teams' public ranks by competition id, in one query."""
    boards = {
        each.live_scoring_version_id: split
        for each in competitions
        if each.id in team_ids and each.live_scoring_version_id is not None
        for split in [shown_split(each, now)]
        if split is not None
    }
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
    public, public_rank = None, None
    if standings.split is Split.PRIVATE:
        public, public_rank = replace(standings, split=Split.PUBLIC).ranked_entry_of(team.id) or (None, None)
    return OwnRank(
        submission_id=entry.submission_id,
        rank=rank,
        score=scale.text(entry.score_units),
        score_units=entry.score_units,
        gap=scale.size_text(scale.difference(above.score_units, entry.score_units)) if above else None,
        division_rank=inside.rank_of(entry) if team.division else None,
        public_rank=public_rank,
        public_score=scale.text(public.score_units) if public else None,
    )


def count_entries(session: Session, *, competition: Competition) -> int:
    """Return the number of scored submissions of all teams."""
    is_entry = (
        Submission.competition_id == competition.id,
        Submission.kind == SubmissionKind.NORMAL,
        Submission.status == SubmissionStatus.SCORED,
    )
    return session.scalar(select(func.count()).where(*is_entry)) or 0
