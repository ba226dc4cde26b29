"""The database tables: columns, constraints and relationships."""

from grader.models.audit import AuditEntry, FairPlayMark
from grader.models.competitions import (
    Announcement,
    Competition,
    CompetitionState,
    DataCheckState,
    DataFile,
    EntryMode,
    Figure,
    Organizer,
    Participation,
    RevealRule,
    Role,
)
from grader.models.counting import Tally
from grader.models.notifications import Mail, Notification, NotificationRead
from grader.models.organizer_jobs import OrganizerJob, OrganizerJobKind
from grader.models.people import (
    AccountLink,
    ApiToken,
    KnownAddress,
    LinkPurpose,
    Login,
    LoginPlace,
    PlaceKind,
    RepeatableRequest,
    SetupLink,
    User,
    new_avatar_key,
)
from grader.models.scoring import JobState, Score, ScoreBasis, ScoringJob, Split
from grader.models.solutions import ScoringVersion, ScoringVersionState, Solution
from grader.models.standings import STANDING_ORDER, DailyRank, FinalBoard, FinalStanding, Standing
from grader.models.submissions import AnnouncedUpload, Dispute, Submission, SubmissionGrant, SubmissionStatus
from grader.models.teams import MergeRequest, RequestState, Team, TeamInvite, TeamMember
from grader.models.webhooks import BodyFormat, Delivery, OffReason, Webhook
from grader.ranking.selection import SubmissionKind

__all__ = [
    "STANDING_ORDER",
    "AccountLink",
    "AnnouncedUpload",
    "Announcement",
    "ApiToken",
    "AuditEntry",
    "BodyFormat",
    "Competition",
    "CompetitionState",
    "DailyRank",
    "DataCheckState",
    "DataFile",
    "Delivery",
    "Dispute",
    "EntryMode",
    "FairPlayMark",
    "Figure",
    "FinalBoard",
    "FinalStanding",
    "JobState",
    "KnownAddress",
    "LinkPurpose",
    "Login",
    "LoginPlace",
    "Mail",
    "MergeRequest",
    "Notification",
    "NotificationRead",
    "OffReason",
    "Organizer",
    "OrganizerJob",
    "OrganizerJobKind",
    "Participation",
    "PlaceKind",
    "RepeatableRequest",
    "RequestState",
    "RevealRule",
    "Role",
    "Score",
    "ScoreBasis",
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
    "Webhook",
    "new_avatar_key",
]
