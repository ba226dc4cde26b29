"""The API's requests and answers about a running competition: console, submissions, teams, people, audit."""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field

from grader.models import (
    Announcement,
    AuditEntry,
    CompetitionState,
    Dispute,
    JobState,
    Role,
    ScoringVersionState,
    Split,
    SubmissionKind,
    SubmissionStatus,
)
from grader.models import Organizer as OrganizerRow
from grader.services.audit import log
from grader.services.leaderboards.ties import SplitTies
from grader.services.limits.grants import GivenGrant
from grader.services.moderation import submission_search, team_search
from grader.services.moderation.submission_search import Group
from grader.services.scoring.queue_health import Health
from grader.visibility import Phase
from webapp.competitions.leaks import LeakBudgetAnswer
from webapp.http.fields import Answer, Asked, Moment, Number, PageSize, Score, Sent, Text
from webapp.http.organizer_operations import Confirmation, Job, Searched
from webapp.organizers.console.audit_page import HIDDEN
from webapp.submissions.answers import Limits


class ScoringQueue(Answer):
    """The scoring jobs of a version in use, by state."""

    number: int
    state: ScoringVersionState
    counts: dict[JobState, int]
    oldest_open_at: Moment | None


class Console(Answer):
    """How a competition goes: its queue, and what waits for an organizer."""

    state: CompetitionState
    phase: Phase
    paused_at: Moment | None
    pause_message: str
    health: Literal["idle", "working", "stalled"]
    queues: list[ScoringQueue]
    last_finished_at: Moment | None
    failed_count: int
    open_dispute_count: int
    waiting_count: Annotated[int, Field(description="People who ask to join.")]
    people_count: Annotated[int, Field(description="People in teams.")]
    team_count: int
    submission_counts: Annotated[dict[SubmissionStatus, int], Field(description="Submissions by status.")]
    leak_budget: LeakBudgetAnswer


class PauseRequest(Sent):
    """A pause: the sentence that uploaders read, and a new close if it moves too."""

    message: Text = ""
    closes_at: Moment | None = None


class ResumeRequest(Sent):
    """The end of a pause, and a new close if it moves too."""

    closes_at: Moment | None = None


class SubmissionQuery(Searched):
    """Which submissions are asked for."""

    state: SubmissionStatus | None = None
    kind: SubmissionKind | None = None
    team: Number | None = None


class OrganizersSubmission(Answer):
    """A submission of any team, with both scores."""

    id: int
    team_id: int
    team: str
    sent_by: str
    status: SubmissionStatus
    kind: SubmissionKind
    file_name: str
    description: str
    size_bytes: int
    sha256: str
    submitted_at: Moment
    public_score: Score | None
    private_score: Score | None
    attempt_count: int
    incident: str | None


class OrganizersSubmissionList(Answer):
    """A part of all submissions, the newest first."""

    submissions: list[OrganizersSubmission]
    page_size: PageSize
    next: str | None


class EqualFileSender(Answer):
    """A team that sent a file, and its first submission of it."""

    team: str
    submission_id: int
    submitted_at: Moment
    count: int


class EqualFile(Answer):
    """A file that more than one team sent."""

    sha256: str
    size_bytes: int
    team_count: int
    is_sample: bool
    senders: list[EqualFileSender]


class EqualFileList(Answer):
    """The files that more than one team sent, those of the most teams first."""

    files: list[EqualFile]


class Retried(Answer):
    """How many scoring jobs were started again."""

    job_count: int


class KindRequest(Sent):
    """What a submission is to be: ranked, a benchmark, or hidden."""

    kind: SubmissionKind


class Marked(Answer):
    """A submission and what it is now."""

    id: int
    kind: SubmissionKind


class DiagnosisRequest(Sent):
    """The submission to compare with, if any."""

    against: Number | None = None


class Diagnosis(Answer):
    """The newest diagnosis of a submission, by split."""

    job: Job | None
    is_published: bool
    is_current: bool
    reports: dict[str, Any]


class ReportQuery(Sent):
    """Which split a page shows."""

    split: Split = Split.PUBLIC


class ExportQuery(Sent):
    """Another scoring version than the live one."""

    version: Number | None = None


class TeamQuery(Searched):
    """Which teams are asked for."""

    disqualified: bool = False


class OrganizersTeam(Answer):
    """A team, its members, and how many submissions it has in each state."""

    id: int
    name: str
    members: list[str]
    counts: dict[str, int]
    last_submitted_at: Moment | None
    disqualified_at: Moment | None
    disqualified_because: str | None


class OrganizersTeamList(Answer):
    """A part of the teams, the newest first."""

    teams: list[OrganizersTeam]
    page_size: PageSize
    next: str | None


class Grant(Answer):
    """Extra submissions on a UTC day; without a team they are everybody's."""

    id: int
    team: str | None
    day: date
    count: int
    reason: str
    granted_at: Moment
    ends_at: Moment


class GrantList(Answer):
    """The newest extra submissions."""

    grants: list[Grant]


class OrganizersTeamDetails(OrganizersTeam):
    """A team with what it may still send and the extra submissions it got."""

    name_is_given: bool
    limits: Limits
    grants: list[Grant]


class GrantRequest(Sent):
    """Extra submissions to give."""

    day: date
    count: Number
    reason: Text = ""


class Disqualification(Confirmation):
    """The confirmation and reason of a disqualification, which takes effect at once."""

    reason: Annotated[Text, Field(description="The reason, which only the team and organizers see.")] = ""


class TeamNameRequest(Sent):
    """Another name for a team, and why."""

    name: Text
    reason: Text = ""


class DisputeLine(Answer):
    """A team's question about a score, and the answer."""

    id: int
    submission_id: int
    team: str
    asked_by: str
    asked_at: Moment
    question: str
    answer: str | None
    answered_by: str | None
    answered_at: Moment | None


class DisputeList(Answer):
    """A part of the questions, the newest first."""

    disputes: list[DisputeLine]
    open_count: int
    page_size: PageSize
    next: str | None


class DisputeAnswer(Sent):
    """The answer to a question."""

    answer: Text


class AnnouncementRequest(Sent):
    """An announcement, in Markdown; an e-mail cannot be called back."""

    title: Text
    body: Text
    by_mail: bool = False


class AnnouncementEdit(Sent):
    """The new title and text of an announcement; a field that is not sent stays as it is."""

    title: Annotated[Text | None, Field(description="The new title.")] = None
    body: Annotated[Text | None, Field(description="The new text, in Markdown.")] = None


class AnnouncementLine(Answer):
    """An announcement."""

    id: int
    title: str
    body: str
    posted_at: Moment
    edited_at: Annotated[Moment | None, Field(description="The last edit; null if there was none.")]
    withdrawn_at: Moment | None


class AnnouncementList(Answer):
    """All announcements."""

    announcements: list[AnnouncementLine]


class OrganizerRequest(Sent):
    """A person to become an organizer, by name, and their role."""

    name: Text
    role: Role


class RoleRequest(Sent):
    """Another role for an organizer."""

    role: Role


class ClassRequest(Sent):
    """Accounts to create for a class."""

    names: Annotated[list[Text], Field(description="The names of the accounts, at most 200.")]
    with_tokens: Annotated[
        bool, Field(description="True for an API token of this competition instead of a link, for each.")
    ] = False


class ClassAccount(Answer):
    """A new account, with a secret that no other answer holds."""

    name: str
    url: Annotated[str | None, Field(description="The link that sets the password, once, within 14 days.")]
    token: Annotated[str | None, Field(description="The API token; it can read and submit for a year.")]


class ClassAccounts(Answer):
    """The new accounts, in the order of their names in the request."""

    accounts: Annotated[list[ClassAccount], Field(description="The new accounts with their secrets.")]


class OrganizerLine(Answer):
    """An organizer."""

    user_id: int
    name: str
    role: Role
    added_at: Moment


class OrganizerList(Answer):
    """The organizers, the first to come first."""

    organizers: list[OrganizerLine]


class AuditQuery(Asked):
    """Which acts are asked for: a whole action or its noun, and the name of who acted."""

    action: Text = ""
    by: Text = ""


class AuditLine(Answer):
    """An act: who did it, and what was before and after."""

    entry: int
    at: Moment
    actor: str | None
    origin: str
    action: str
    subject: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str
    is_public: bool
    public_text: str


class AuditList(Answer):
    """A part of the audit log, the newest first."""

    entries: list[AuditLine]
    page_size: PageSize
    next: str | None


class TiedTeam(Answer):
    """A team, and the score of the team above minus its own."""

    rank: int
    team: str
    submission_id: int
    difference: dict[str, Any] | None


class TiedBoard(Answer):
    """A leaderboard that was compared; `is_stale` where it has changed since."""

    split: Split
    is_stale: bool
    teams: list[TiedTeam]


class Ties(Answer):
    """Which teams were tied with the one above when they were compared last."""

    job: Job | None
    is_published: bool
    boards: list[TiedBoard]


def queues(health: Health) -> list[ScoringQueue]:
    """Return the scoring queues of a competition."""
    return [ScoringQueue.of(each, counts=dict(each.counts)) for each in health.queues]


def submission(line: submission_search.Line) -> OrganizersSubmission:
    """Return a submission of any team."""
    found = line.submission
    scores = {split: float(score) for split, score in line.scores.items()}
    return OrganizersSubmission.of(
        found,
        team=found.team.name,
        sent_by=found.user.name,
        public_score=scores.get(Split.PUBLIC),
        private_score=scores.get(Split.PRIVATE),
        attempt_count=line.attempt_count,
    )


def equal_file(group: Group) -> EqualFile:
    """Return a file that more than one team sent."""
    senders = [EqualFileSender.of(each, team=each.team.name) for each in group.senders]
    return EqualFile.of(group, senders=senders)


def team_fields(line: team_search.Line) -> dict[str, Any]:
    """Return the fields of a team."""
    return {
        "id": line.team.id,
        "name": line.team.name,
        "members": [each.name for each in line.members],
        "counts": {status.value: count for status, count in line.counts.items()},
        "last_submitted_at": line.last_submitted_at,
        "disqualified_at": line.team.disqualified_at,
        "disqualified_because": line.team.disqualification_reason if line.team.disqualified_at else None,
    }


def grant(given: GivenGrant) -> Grant:
    """Return extra submissions."""
    return Grant.of(given.grant, team=given.team, ends_at=given.ends_at)


def dispute(found: Dispute) -> DisputeLine:
    """Return a question about a score."""
    return DisputeLine.of(
        found,
        team=found.submission.team.name,
        asked_by=found.asked_by.name,
        answer=found.answer or None,
        answered_by=found.answered_by.name if found.answered_by else None,
    )


def announcement(found: Announcement) -> AnnouncementLine:
    """Return an announcement."""
    return AnnouncementLine.model_validate(found)


def organizer(found: OrganizerRow) -> OrganizerLine:
    """Return an organizer."""
    return OrganizerLine.of(found, name=found.user.name)


def audit(entry: AuditEntry, names: dict[str, str]) -> AuditLine:
    """Return an act, with the names of now, in the fields of the export."""
    hidden = HIDDEN.get(entry.action, frozenset())
    return AuditLine.of(
        entry,
        entry=entry.id,
        actor=entry.actor.name if entry.actor else None,
        subject=log.told(entry.subject, names),
        before={name: value for name, value in entry.before.items() if name not in hidden},
        after={name: value for name, value in entry.after.items() if name not in hidden},
        public_text=log.told(entry.public_text, names),
    )


def tied_board(found: SplitTies) -> TiedBoard:
    """Return a leaderboard that was compared."""
    teams = [TiedTeam.of(each.place, difference=each.difference) for each in found.lines]
    return TiedBoard.of(found, teams=teams)
