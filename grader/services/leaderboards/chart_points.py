"""Points of leaderboard charts: teams by AUC and bias term, and the shake-up between the splits."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import String, func, select, type_coerce
from sqlalchemy.orm import Session

from grader.models import STANDING_ORDER, Competition, Score, Split, Standing, Team
from grader.ranking import order
from grader.services.competitions import lookup

BIAS_TERMS = ("subgroup_auc", "bpsn_auc", "bnsp_auc")


@dataclass(frozen=True, slots=True)
class TermPoint:
    """A team at its rank: the overall AUC, and the weakest of the three bias terms."""

    rank: int
    team_id: int
    overall: float
    worst: float
    worst_term: str


def of_board(session: Session, *, competition: Competition, split: Split) -> list[TermPoint]:
    """Return a point for each team, in the order of ranks; ask only for a viewer who may see the terms."""
    version_id = lookup.live(competition).id
    found = session.execute(
        select(Standing.team_id, Score.overall_auc, *(getattr(Score, term) for term in BIAS_TERMS))
        .join(Score, Score.submission_id == Standing.submission_id)
        .where(
            Standing.scoring_version_id == version_id,
            Standing.split == split,
            Score.scoring_version_id == version_id,
            Score.split == split,
        )
        .order_by(*STANDING_ORDER)
    )
    points = []
    for rank, (team_id, overall, *values) in enumerate(found, 1):
        bias = [_rounded(value) for value in values]
        worst = min(bias)
        term = BIAS_TERMS[bias.index(worst)]
        points.append(TermPoint(rank, team_id, _rounded(overall), worst, term))
    return points


def names(session: Session, *, team_ids: Collection[int]) -> dict[int, str]:
    """Return the names of some teams."""
    return dict(session.execute(select(Team.id, Team.name).where(Team.id.in_(team_ids))).all())


def _rounded(term: float) -> float:
    """Return what `order.rounded_term` does, for the terms of ten thousand teams."""
    return round(term, order.TERM_DECIMALS) + 0.0


@dataclass(frozen=True, slots=True)
class Move:
    """A team's ranks, and its displayed scores in units of 0.00001."""

    team: str
    public_rank: int
    rank: int
    public_units: int
    units: int

    @property
    def places(self) -> int:
        """How many places the team wins from the public to the private leaderboard."""
        return self.public_rank - self.rank


def shake_up(session: Session, *, competition: Competition) -> list[Move]:
    """Return the moves of all teams that both leaderboards have, by their private rank; for organizers."""
    version = competition.live_scoring_version
    if version is None:
        return []
    rank = func.row_number().over(partition_by=Standing.split, order_by=STANDING_ORDER)
    lines = session.execute(
        select(Standing.team_id, type_coerce(Standing.split, String), rank, Standing.score_units, Team.name)
        .join(Team, Team.id == Standing.team_id)
        .where(Standing.scoring_version_id == version.id)
    )
    found: dict[str, dict[int, tuple[int, int, str]]] = {split.value: {} for split in Split}
    for team_id, split, place, units, name in lines:
        found[split][team_id] = (place, units, name)
    public = found[Split.PUBLIC.value]
    moves = [
        Move(name, public[team_id][0], place, public[team_id][1], units)
        for team_id, (place, units, name) in found[Split.PRIVATE.value].items()
        if team_id in public
    ]
    return sorted(moves, key=lambda move: move.rank)
