"""Shake-up of a competition: each team's rank and displayed score on the public and the private split."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Split, Standing, Team
from grader.services.standings import places


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
    public, private = (
        places.ranks(session, scoring_version_id=version.id, split=split)
        for split in (Split.PUBLIC, Split.PRIVATE)
    )
    units: dict[Split, dict[int, int]] = {split: {} for split in Split}
    names = {}
    for team_id, split, score_units, name in session.execute(
        select(Standing.team_id, Standing.split, Standing.score_units, Team.name)
        .join(Team, Team.id == Standing.team_id)
        .where(Standing.scoring_version_id == version.id)
    ):
        units[split][team_id], names[team_id] = score_units, name
    return [
        Move(names[each], public[each], rank, units[Split.PUBLIC][each], units[Split.PRIVATE][each])
        for each, rank in sorted(private.items(), key=lambda item: item[1])
        if each in public
    ]
