"""The database tables: columns, constraints and relationships."""

from grader.models.announcement import Announcement
from grader.models.audit_entry import AuditEntry
from grader.models.competition import Competition, CompetitionState, EntryMode, RevealRule
from grader.models.daily_rank import DailyRank
from grader.models.data_file import DataCheckState, DataFile
from grader.models.dispute import Dispute
from grader.models.final_board import FinalBoard, FinalStanding
from grader.models.mail import Mail
from grader.models.organizer import Organizer, Role
from grader.models.organizer_job import OrganizerJob, OrganizerJobKind
from grader.models.participation import Participation
from grader.models.score import Score, Split
from grader.models.scoring_job import JobState, ScoringJob
from grader.models.scoring_version import ScoringVersion, ScoringVersionState
from grader.models.solution import Solution
from grader.models.standing import Standing
from grader.models.submission import Submission, SubmissionStatus
from grader.models.submission_grant import SubmissionGrant
from grader.models.tally import Tally
from grader.models.team import MergeRequest, RequestState, Team, TeamInvite, TeamMember
from grader.models.user import AccountLink, ApiToken, KnownAddress, LinkPurpose, Login, SetupLink, User
from grader.ranking.selection import SubmissionKind

__all__ = [
    "AccountLink",
    "Announcement",
    "ApiToken",
    "AuditEntry",
    "Competition",
    "CompetitionState",
    "DailyRank",
    "DataCheckState",
    "DataFile",
    "Dispute",
    "EntryMode",
    "FinalBoard",
    "FinalStanding",
    "JobState",
    "KnownAddress",
    "LinkPurpose",
    "Login",
    "Mail",
    "MergeRequest",
    "Organizer",
    "OrganizerJob",
    "OrganizerJobKind",
    "Participation",
    "RequestState",
    "RevealRule",
    "Role",
    "Score",
    "ScoringJob",
    "ScoringVersion",
    "ScoringVersionState",
    "SetupLink",
    "Solution",
    "Split",
    "Standing",
    "Submission",
    "SubmissionGrant",
    "SubmissionKind",
    "SubmissionStatus",
    "Tally",
    "Team",
    "TeamInvite",
    "TeamMember",
    "User",
]
