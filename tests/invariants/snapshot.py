"""Consistent snapshot of all tables."""

from collections import defaultdict
from typing import TypeVar

from sqlalchemy import select

from grader.db import Database
from grader.models import (
    Competition,
    Score,
    ScoringJob,
    ScoringVersion,
    Solution,
    Split,
    Standing,
    Submission,
    SubmissionGrant,
    Team,
)
from grader.models.base import Base
from grader.receipts.receipt import shown

Row = TypeVar("Row", bound=Base)


class Snapshot:
    """All rows needed for the invariants, read in one transaction."""

    def __init__(self, database: Database):
        with database.read() as session:

            def load(model: type[Row]) -> list[Row]:
                return list(session.scalars(select(model).order_by(model.__table__.c.id)))

            self.competitions = {each.id: each for each in load(Competition)}
            self.solutions = {each.id: each for each in load(Solution)}
            self.versions = {each.id: each for each in load(ScoringVersion)}
            self.teams = {each.id: each for each in load(Team)}
            self.submissions = {each.id: each for each in load(Submission)}
            self.jobs, self.scores = load(ScoringJob), load(Score)
            self.standings, self.grants = load(Standing), load(SubmissionGrant)
        self.scores_of: dict[tuple[int, int], dict[Split, Score]] = defaultdict(dict)
        for score in self.scores:
            self.scores_of[score.submission_id, score.scoring_version_id][score.split] = score

    def live(self, submission: Submission) -> int | None:
        return self.competitions[submission.competition_id].live_scoring_version_id

    def shown(self, submission: Submission, version_id: int, split: Split) -> str:
        """Return a score as displayed on leaderboards."""
        return shown(self.scores_of[submission.id, version_id][split].score) or ""
