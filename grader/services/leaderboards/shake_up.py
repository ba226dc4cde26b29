"""Shake-up of a competition: each team's rank and displayed score on the public and the private split."""

from dataclasses import dataclass

from sqlalchemy import String, func, select, type_coerce
from sqlalchemy.orm import Session

from grader.models import STANDING_ORDER, Competition, Split, Standing, Team


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


def of_competition(session: Session, *, competition: Competition) -> list[Move]:
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
