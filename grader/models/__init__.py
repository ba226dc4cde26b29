"""The tables: columns, constraints and relationships; no session, cache or HTML."""

from grader.leaderboard.history import SubmissionKind
from grader.models.competition import Competition, CompetitionState, EntryMode
from grader.models.daily_rank import DailyRank
from grader.models.final_board import FinalBoard, FinalStanding
from grader.models.mail import Mail
from grader.models.participation import Participation
from grader.models.score import Score, Split
from grader.models.scoring_job import JobState, ScoringJob
from grader.models.scoring_version import ScoringVersion, ScoringVersionState
from grader.models.solution import Solution
from grader.models.standing import Standing
from grader.models.submission import Submission, SubmissionStatus
from grader.models.team import MergeRequest, RequestState, Team, TeamInvite, TeamMember
from grader.models.user import AccountLink, ApiToken, LinkPurpose, Login, SetupLink, User

__all__ = [
    "AccountLink",
    "ApiToken",
    "Competition",
    "CompetitionState",
    "DailyRank",
    "EntryMode",
    "FinalBoard",
    "FinalStanding",
    "JobState",
    "LinkPurpose",
    "Login",
    "Mail",
    "MergeRequest",
    "Participation",
    "RequestState",
    "Score",
    "ScoringJob",
    "ScoringVersion",
    "ScoringVersionState",
    "SetupLink",
    "Solution",
    "Split",
    "Standing",
    "Submission",
    "SubmissionKind",
    "SubmissionStatus",
    "Team",
    "TeamInvite",
    "TeamMember",
    "User",
]
