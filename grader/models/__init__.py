"""The tables: columns, constraints and relationships; no session, cache or HTML."""

from grader.models.competition import Competition, CompetitionState
from grader.models.score import Score, Split
from grader.models.scoring_job import JobState, ScoringJob
from grader.models.scoring_version import ScoringVersion, ScoringVersionState
from grader.models.solution import Solution
from grader.models.standing import Standing
from grader.models.submission import Submission, SubmissionStatus
from grader.models.team import Team, TeamMember
from grader.models.user import ApiToken, Login, SetupLink, User

__all__ = [
    "ApiToken",
    "Competition",
    "CompetitionState",
    "JobState",
    "Login",
    "Score",
    "ScoringJob",
    "ScoringVersion",
    "ScoringVersionState",
    "SetupLink",
    "Solution",
    "Split",
    "Standing",
    "Submission",
    "SubmissionStatus",
    "Team",
    "TeamMember",
    "User",
]
