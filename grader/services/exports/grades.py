"""Grades of the students of a class: rank, score and percentile."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import (
    STANDING_ORDER,
    Competition,
    RosterEntry,
    ScoringVersion,
    Split,
    Standing,
    Team,
    TeamMember,
)
from grader.services.standings.ranks import Standings

COLUMNS = (
    "student_id", "name", "email", "section", "team", "split", "rank", "team_count", "score", "percentile",
    "disqualified",
)  # fmt: skip


def rows(session: Session, competition: Competition, version: ScoringVersion) -> Iterator[Mapping[str, Any]]:
    """Yield the grades of the students by section and name.

    They are those of the public leaderboard until the reveal, then of the private one. The percentile is the
    share of ranked teams at or below the team's rank.
    """
    split = Split.PUBLIC if competition.revealed_at is None else Split.PRIVATE
    board = select(Standing.team_id, Standing.score_units).where(*Standings(session, version.id, split).rows)
    lines = session.execute(board.order_by(*STANDING_ORDER)).all()
    ranked = {team_id: (rank, units) for rank, (team_id, units) in enumerate(lines, 1)}
    for entry, team in students(session, competition):
        rank, units = ranked.get(team.id, (0, 0)) if team else (0, 0)
        yield {
            "student_id": entry.student_id,
            "name": entry.name,
            "email": entry.email,
            "section": entry.section,
            "team": team and team.name,
            "split": split.value,
            "rank": rank or None,
            "team_count": len(lines),
            "score": version.scale.text(units) if rank else None,
            "percentile": round(100 * (len(lines) - rank + 1) / len(lines), 1) if rank else None,
            "disqualified": team is not None and team.is_disqualified,
        }


def students(session: Session, competition: Competition) -> Iterator[tuple[RosterEntry, Team | None]]:
    """Yield the students with their teams, by section and name."""
    of_student = (TeamMember.user_id == RosterEntry.user_id) & (TeamMember.competition_id == competition.id)
    query = (
        select(RosterEntry, Team)
        .outerjoin(TeamMember, of_student)
        .outerjoin(Team, Team.id == TeamMember.team_id)
        .where(RosterEntry.competition_id == competition.id)
        .order_by(RosterEntry.section, RosterEntry.name, RosterEntry.id)
    )
    yield from ((entry, team) for entry, team in session.execute(query))
