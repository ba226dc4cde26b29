"""Best public score of teams over time, for the leaderboard's chart: the first, and some of the others."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, Score, Split, Submission, SubmissionKind, Team
from grader.ranking import selection
from grader.ranking.order import Entry
from grader.services.competitions import lookup
from grader.services.standings import places, shown_scores

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
