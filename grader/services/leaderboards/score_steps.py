"""Best public score of the top teams over time, for the leaderboard's chart."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Score, Split, Submission, SubmissionKind
from grader.ranking import order, selection
from grader.ranking.order import Entry
from grader.services.competitions import lookup

TEAM_COUNT = 10


@dataclass(frozen=True, slots=True)
class TeamSteps:
    """The entries of one team that were its best when they came, in order of time."""

    team_id: int
    steps: tuple[Entry, ...]


def of_teams(session: Session, *, competition: Competition, team_ids: Collection[int]) -> list[TeamSteps]:
    """Return the steps of teams on the public rows under the live scoring version, in the order given."""
    found = session.execute(
        select(Submission.team_id, Submission.id, Score.score, Submission.submitted_at)
        .join(Score, Score.submission_id == Submission.id)
        .where(
            Submission.team_id.in_(team_ids),
            Submission.kind == SubmissionKind.NORMAL,
            Score.scoring_version_id == lookup.live(competition).id,
            Score.split == Split.PUBLIC,
        )
    )
    entries: dict[int, list[Entry]] = defaultdict(list)
    for team_id, submission_id, score, submitted_at in found:
        entries[team_id].append(Entry(team_id, submission_id, order.score_units(score), submitted_at))
    return [TeamSteps(team_id, tuple(selection.improvements(entries[team_id]))) for team_id in team_ids]
