"""Data for the leaderboard charts: scores over time, bias terms, the shake-up."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import and_, case, false, select, true
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.models import (
    STANDING_ORDER,
    Competition,
    Score,
    ScoringVersion,
    Split,
    Standing,
    Submission,
    SubmissionKind,
    Team,
    on_board,
)
from grader.ranking import order
from grader.ranking.order import Scale, TeamEntry
from grader.services.competitions import lookup, metric, phases, team_names
from grader.services.leaderboards import shown_scores
from grader.services.leaderboards.group_tables import worst_of
from grader.services.leaderboards.ranks import Standings
from grader.visibility import Field, Viewer, visible_fields


def unranked(team_id: int) -> Refusal:
    """Return the error that a team is on no leaderboard."""
    return Refusal("unranked_team", ErrorKind.NOT_FOUND, f"Team {team_id} is not on the leaderboard.")


def ranked_team(session: Session, *, team_id: int) -> tuple[Team, Competition]:
    """Return a team that is on a public leaderboard, and its competition; raise Refusal."""
    team = session.get(Team, team_id)
    if team is None:
        raise unranked(team_id)
    competition = session.get_one(Competition, team.competition_id)
    version = competition.live_scoring_version
    if version is None or not Standings(session, version.id, Split.PUBLIC).entry_of(team_id):
        raise unranked(team_id)
    return team, competition


def of_teams(
    session: Session, *, competition: Competition, team_ids: Collection[int]
) -> dict[int, list[TeamEntry]]:
    """Return, by team, the submissions that improved its best public score, oldest first."""
    rows = session.execute(
        select(Submission.team_id, Submission.id, Score.score, Submission.submitted_at)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.team_id.in_(team_ids),
            Submission.kind == SubmissionKind.NORMAL,
            Score.scoring_version_id == lookup.live(competition).id,
            Score.split == Split.PUBLIC,
        )
        .order_by(Submission.submitted_at, Submission.id)
    )
    improvements: dict[int, list[TeamEntry]] = {team_id: [] for team_id in team_ids}
    scale = competition.scale  # Its computation takes longer than that of the units.
    for team_id, submission_id, score, submitted_at in rows:
        units = shown_scores.units(competition, score, scale)
        own = improvements[team_id]
        if units is not None and (not own or units > own[-1].score_units):
            own.append(TeamEntry(team_id, submission_id, units, submitted_at))
    return improvements


@dataclass(frozen=True, slots=True)
class OwnScore:
    """A team's file with its displayed score, None if hidden, and the team's best entry before it."""

    submission: Submission
    units: int | None
    before: TeamEntry | None
    scale: Scale

    @property
    def score(self) -> str | None:
        """The displayed score."""
        return None if self.units is None else self.scale.text(self.units)

    @property
    def entry(self) -> TeamEntry | None:
        """The file as an entry with its displayed score; None if that is hidden."""
        file = self.submission
        if self.units is None:
            return None
        return TeamEntry(file.team_id, file.id, self.units, file.submitted_at)


def own_scores(
    session: Session, *, team: Team, version: ScoringVersion, allowed: Collection[Field]
) -> list[OwnScore]:
    """Return all files of a team, oldest first, without reading hidden scores."""
    is_score = and_(
        Score.submission_id == Submission.id,
        Score.scoring_version_id == version.id,
        Score.split == Split.PUBLIC,
        true() if Field.PUBLIC_SCORE in allowed else false(),
    )
    rows = session.execute(
        select(Submission, Score.score)
        .outerjoin(Score, is_score)
        .where(Submission.team_id == team.id)
        .order_by(Submission.submitted_at, Submission.id)
    )
    competition, own = session.get_one(Competition, team.competition_id), version.scale
    is_exact = Field.PUBLIC_EXACT in allowed
    scale = own if is_exact else shown_scores.scale(competition, own=own)
    scores: list[OwnScore] = []
    best: TeamEntry | None = None
    for each, score in rows:
        units = None
        if score is not None:
            units = own.units(score) if is_exact else shown_scores.units(competition, score, own)
        scores.append(OwnScore(each, units, best, scale))
        counts = team.is_organizers or each.kind in shown_scores.KINDS
        if units is not None and counts and (best is None or units > best.score_units):
            best = scores[-1].entry
    return scores


def own_files(session: Session, *, competition: Competition, team: Team, now: datetime) -> list[OwnScore]:
    """Return all files of a team, oldest first, with the live scores that the team may see."""
    allowed = visible_fields(Viewer.TEAM, phases.phase(competition, now), competition.feedback)
    return own_scores(session, team=team, version=lookup.live(competition), allowed=allowed)


@dataclass(frozen=True, slots=True)
class TermPoint:
    """A team's rank, its first term or score, and the weakest of its other terms or groups."""

    rank: int
    team_id: int
    overall: float
    worst: float
    worst_term: str


def terms_of_board(session: Session, *, competition: Competition, split: Split) -> list[TermPoint]:
    """Return a point for each team in rank order; callers check that the terms or groups are visible."""
    version = lookup.live(competition)
    terms = metric.Rules.of(version).about.terms
    means = [term.name for term in terms if term.is_over_groups]
    rows = session.execute(
        select(Standing.team_id, Standing.score_units, Score.terms if means else Score.groups)
        .join(Score, Score.submission_id == Standing.submission_id)
        .where(
            *on_board(version.id, split),
            Score.scoring_version_id == version.id,
            Score.split == split,
        )
        .order_by(*STANDING_ORDER)
    )
    points = []
    for rank, (team_id, units, stored) in enumerate(rows, 1):
        if means:
            others = [round(stored[name], order.TERM_DECIMALS) + 0.0 for name in means]
            worst, overall = min(others), round(stored[terms[0].name], order.TERM_DECIMALS) + 0.0
            points.append(TermPoint(rank, team_id, overall, worst, means[others.index(worst)]))
        elif group := worst_of(stored, is_lowest_best=version.scale.is_lowest_best):
            name = f"{group.column} = {group.name}"
            points.append(TermPoint(rank, team_id, version.scale.value(units), group.score, name))
    return points


def names(
    session: Session,
    *,
    competition: Competition,
    team_ids: Collection[int],
    viewer: Viewer,
    own_team_id: int | None,
) -> dict[int, str]:
    """Return the names of teams by id, as a viewer with this team sees them."""
    own = case((Team.id == own_team_id, Team.name), else_=team_names.column(competition, viewer))
    return dict(session.execute(select(Team.id, own).where(Team.id.in_(team_ids))).all())


@dataclass(frozen=True, slots=True)
class Move:
    """A team's ranks on both leaderboards, and the units of its displayed scores."""

    team: str
    public_rank: int
    rank: int
    public_units: int
    units: int

    @property
    def places(self) -> int:
        """The number of ranks gained from the public to the private leaderboard."""
        return self.public_rank - self.rank


def shake_up(session: Session, *, competition: Competition) -> list[Move]:
    """Return the ranks of all teams on both leaderboards, by private rank, for organizers."""
    version = competition.live_scoring_version
    if version is None:
        return []
    public, private = (
        Standings(session, version.id, split).ranked_teams().add_columns(Standing.score_units).subquery()
        for split in Split
    )
    rows = session.execute(
        select(Team.name, public.c.rank, private.c.rank, public.c.score_units, private.c.score_units)
        .join(public, public.c.team_id == Team.id)
        .join(private, private.c.team_id == Team.id)
        .order_by(private.c.rank)
    )
    return [Move(*row) for row in rows]
