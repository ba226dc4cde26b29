"""Database tables: columns, constraints, relationships."""

from grader.models.competitions import (
    Announcement,
    Color,
    Competition,
    CompetitionState,
    DataCheckState,
    DataFile,
    DivisionChoice,
    EntryMode,
    Figure,
    Organizer,
    Participation,
    RevealRule,
    Role,
    RosterEntry,
    SectionUse,
)
from grader.models.organizer_jobs import OrganizerJob, OrganizerJobKind
from grader.models.people import (
    AccountLink,
    ApiToken,
    FactorKind,
    FactorPurpose,
    FactorStep,
    Identity,
    KeptIdentity,
    LinkPurpose,
    Login,
    RecoveryCode,
    SecondFactor,
    Tally,
    User,
)
from grader.models.scoring import (
    STANDING_ORDER,
    JobState,
    LeasedJob,
    Score,
    ScoringJob,
    ScoringVersion,
    ScoringVersionState,
    Solution,
    Standing,
    on_board,
)
from grader.models.site import AuditEntry, BackupRun, Mail
from grader.models.submissions import AnnouncedUpload, Submission, SubmissionGrant, SubmissionStatus
from grader.models.teams import MergeRequest, RequestState, Team, TeamInvite, TeamMember
from grader.ranking.selection import MAIN_BOARD, Split, SubmissionKind
