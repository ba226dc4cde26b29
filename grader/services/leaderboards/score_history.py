"""Scores over time: each of a team's own files, and the best public scores of teams."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, and_, func, null, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, Score, ScoringVersion, Split, Submission, SubmissionKind, Team
from grader.ranking import order, selection
from grader.ranking.order import Entry
from grader.services.competitions import lookup
from grader.services.standings import places, shown_scores
from grader.visibility import Field

TEAM_COUNT = 5
SAMPLE_COUNT = 60


class UnrankedTeam(ParticipantError):
    """No leaderboard has a team with this number."""

    public_name = "unranked_team"
    kind = ErrorKind.NOT_FOUND
    message = "No team with the number {team_id} is on a leaderboard."


@dataclass(frozen=True, slots=True)
class TeamSteps:
    """The entries of one team that were its best when they came, in order of time."""

    team_id: int
    steps: tuple[Entry, ...]


def ranked_team(session: Session, *, team_id: int) -> tuple[Team, Competition]:
    """Return a team that is on a public leaderboard, and its competition; raise UnrankedTeam."""
    team = session.get(Team, team_id)
    if team is None:
        raise UnrankedTeam(team_id=team_id)
    competition = session.get_one(Competition, team.competition_id)
    version = competition.live_scoring_version
    if version is None or not places.standing_of(
        session, scoring_version_id=version.id, split=Split.PUBLIC, team_id=team_id
    ):
        raise UnrankedTeam(team_id=team_id)
    return team, competition


def sample(session: Session, *, competition: Competition, but: Collection[int]) -> list[TeamSteps]:
    """Return the steps of other teams: of all, or of so many that are evenly spaced over the ranks."""
    ranked = places.ranked_teams(lookup.live(competition).id, Split.PUBLIC).subquery()
    count = select(func.count()).select_from(ranked).scalar_subquery()
    every = (count + SAMPLE_COUNT - 1) // SAMPLE_COUNT
    query = select(ranked.c.team_id).where(ranked.c.rank % every == 0, ranked.c.team_id.not_in(but))
    found = of_teams(session, competition=competition, team_ids=session.scalars(query).all())
    return [each for each in found if each.steps]


def of_teams(session: Session, *, competition: Competition, team_ids: Collection[int]) -> list[TeamSteps]:
    """Return the steps of teams on the public rows under the live scoring version, in the order given."""
    if not team_ids:
        return []
    found = session.execute(
        select(Submission.team_id, Submission.id, Score.score, Score.shown_units, Submission.submitted_at)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.team_id.in_(team_ids),
            Submission.kind == SubmissionKind.NORMAL,
            Score.scoring_version_id == lookup.live(competition).id,
            Score.split == Split.PUBLIC,
        )
    )
    entries: dict[int, list[Entry]] = defaultdict(list)
    for team_id, submission_id, score, stored, submitted_at in found:
        units = shown_scores.units(competition, score, stored)
        if units is not None:
            entries[team_id].append(Entry(team_id, submission_id, units, submitted_at))
    return [TeamSteps(team_id, tuple(selection.improvements(entries[team_id]))) for team_id in team_ids]


@dataclass(frozen=True, slots=True)
class OwnScore:
    """A file, its score as shown in units of 0.00001, and the best shown one of the files before it.

    Each is None where nothing is shown.
    """

    submission_id: int
    file_name: str
    units: int | None
    best_before: int | None

    @property
    def gain(self) -> int | None:
        """By how much it beats the best file before it (negative: falls short)."""
        return None if self.units is None or self.best_before is None else self.units - self.best_before


def own_scores(
    session: Session, *, team: Team, version: ScoringVersion, allowed: Collection[Field]
) -> list[OwnScore]:
    """Return all files of a team, the oldest first; scores that are not allowed are not read."""
    is_shown = Field.PUBLIC_SCORE in allowed
    scores: tuple[Any, Any] = (Score.score, Score.shown_units) if is_shown else (null(), null())
    query: Select[Any] = select(Submission.id, Submission.file_name, Submission.kind, *scores)
    if is_shown:
        query = query.outerjoin(
            Score,
            and_(
                Score.submission_id == Submission.id,
                Score.scoring_version_id == version.id,
                Score.split == Split.PUBLIC,
            ),
        )
    found = session.execute(
        query.where(Submission.team_id == team.id).order_by(Submission.submitted_at, Submission.id)
    )
    return list(_in_order(found, is_exact=Field.PUBLIC_EXACT in allowed, is_test=team.is_organizers))


def _in_order(rows: Iterable[Any], *, is_exact: bool, is_test: bool) -> Iterator[OwnScore]:
    best: int | None = None
    for submission_id, file_name, kind, score, stored in rows:
        units = stored if score is None or not is_exact else order.score_units(score)
        yield OwnScore(submission_id, file_name, units, best)
        if units is not None and (is_test or kind in shown_scores.KINDS):
            best = units if best is None else max(best, units)
