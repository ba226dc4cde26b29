"""Grades of the students of a class: rank, score, percentile, and points by thresholds."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerError, SeveralProblems
from grader.models import (
    STANDING_ORDER,
    Competition,
    RosterEntry,
    Score,
    ScoringVersion,
    Split,
    Standing,
    Team,
    TeamMember,
)
from grader.services.competitions.settings_model import grade_points_of
from grader.services.standings.ranks import Standings
from grader.services.submissions import benchmark_entries
from grader.text import folded, listed

COLUMNS = (
    "student_id", "name", "email", "section", "team", "split", "rank", "team_count", "score", "percentile",
    "points", "disqualified",
)  # fmt: skip


class UnknownThresholds(SeveralProblems, OrganizerError):
    """The points for grades refer to benchmarks that do not exist or have no score."""

    public_name = "unknown_thresholds"
    kind = ErrorKind.CONFLICT


def thresholds(
    session: Session, competition: Competition, version: ScoringVersion
) -> list[tuple[float, int]]:
    """Return the points with the least score in units, most points first; raise UnknownThresholds.

    The newest benchmark with a name counts.
    """
    names = {
        each.id: each.description for each in benchmark_entries.list_all(session, competition=competition)
    }
    query = select(Score.submission_id, Score.score).where(
        Score.submission_id.in_(names),
        Score.scoring_version_id == version.id,
        Score.split == _split(competition),
    )
    scores = {
        folded(names[each]): score for each, score in session.execute(query.order_by(Score.submission_id))
    }
    lines = grade_points_of(competition.grade_points)
    unknown = [each for each, _ in lines if isinstance(each, str) and folded(each) not in scores]
    if unknown:
        known = listed(sorted(set(names.values()))) or "none"
        raise UnknownThresholds(
            f"The points name the benchmark {each!r}, which does not exist or has no score. Known: {known}."
            for each in unknown
        )
    least = [(points, scores[folded(each)] if isinstance(each, str) else each) for each, points in lines]
    return sorted(((points, version.scale.units(score)) for points, score in least), reverse=True)


def rows(session: Session, competition: Competition, version: ScoringVersion) -> Iterator[Mapping[str, Any]]:
    """Yield the grades of the students by section and name.

    They are those of the public leaderboard until the reveal, then of the private one. The percentile is the
    share of ranked teams at or below the team's rank.
    """
    steps, split = thresholds(session, competition, version), _split(competition)
    board = select(Standing.team_id, Standing.score_units).where(*Standings(session, version.id, split).rows)
    lines = session.execute(board.order_by(*STANDING_ORDER)).all()
    ranked = {team_id: (rank, units) for rank, (team_id, units) in enumerate(lines, 1)}
    for entry, team in students(session, competition):
        rank, units = ranked.get(team.id, (0, 0)) if team else (0, 0)
        reached = [points for points, least in steps if rank and units >= least]
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
            "points": _whole(max(reached, default=0)) if steps else None,
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


def _whole(points: float) -> float:
    """Return whole points as an integer."""
    return int(points) if points == int(points) else points


def _split(competition: Competition) -> Split:
    return Split.PUBLIC if competition.revealed_at is None else Split.PRIVATE
