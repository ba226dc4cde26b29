"""Fair play reports: signs of probing, similar files, marks by organizers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, delete, func, null, or_, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerError
from grader.models import (
    Competition,
    CompetitionState,
    FairPlayMark,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Score,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
    Team,
)
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, metric
from grader.services.competitions.acting import Act
from grader.services.jobs import organizer_jobs
from grader.services.stored_json import StoredJson, StoredNames

EVERY = timedelta(days=1)
MAX_FILES = 10_000
MAX_CELLS = 2_000_000_000  # maximum predictions per job, which limits its duration for any number of rows
REASON_MAX_LENGTH = 500


class MarkNeedsReason(OrganizerError):
    """A mark requires a reason."""

    public_name = "reason_needed"
    message = f"Explain in at most {REASON_MAX_LENGTH} characters why this is not a problem."


class UnknownLine(OrganizerError):
    """The report has no such row to mark."""

    public_name = "unknown_line"
    kind = ErrorKind.NOT_FOUND
    message = "There is no such entry on the Fair play page."


class FoundSigns(StoredJson, extra="ignore"):
    """One suspicious file; `nearest_id` is an earlier file of the team.

    Unknown keys are ignored, because reports of earlier versions have evidence of further signs.
    """

    submission_id: int
    signs: StoredNames
    rows: int
    lone_levels: int
    auc: float | None
    nearest_id: int | None
    moved: int | None


class FoundTeam(StoredJson):
    """A team with many suspicious files: the counts of all and of suspicious files, and the first ones."""

    team_id: int
    file_count: int
    sign_count: int
    files: list[FoundSigns]

    @property
    def line(self) -> str:
        """The name by which marks refer to this row of the report."""
        return f"team {self.team_id}"


class FoundPair(StoredJson, extra="ignore"):
    """Two similar files of different teams, the earlier one first.

    `agreement` is the share of the rows in a secret sample on which both files differ from the other teams'
    files in the same way, and `distinct` is the number of distinct values in the earlier file. `known_ids`
    are similar files that the organizers submitted.

    Unknown keys are ignored, because pairs of earlier versions have a chart and further figures. Only those
    that were listed as a blend have a `third_id`.
    """

    one_id: int
    other_id: int
    has_same_bytes: bool
    has_same_order: bool
    distinct: int
    agreement: float
    rows: int
    known_ids: list[int]
    third_id: int | None = None

    @property
    def line(self) -> str:
        """The name by which marks refer to this row of the report."""
        return f"submissions {self.one_id} and {self.other_id}"


class Report(StoredJson, extra="ignore"):
    """The report; `unread_count` files were not read in time, and `older_count` older ones are omitted.

    Unknown keys are ignored, because reports of earlier versions also list files that follow canary rows.
    """

    file_count: int
    team_count: int
    unread_count: int
    older_count: int
    teams: list[FoundTeam]
    pairs: list[FoundPair]


EMPTY = Report(file_count=0, team_count=0, unread_count=0, older_count=0, teams=[], pairs=[])


def request(
    session: Session, *, competition: Competition, actor: Actor | None, now: datetime
) -> OrganizerJob:
    """Add a job unless one is open; scheduled jobs have no actor."""
    version = lookup.live(competition)
    running = newest(session, competition=competition)
    if running is not None and organizer_jobs.is_open(running):
        return running
    _forget_older(session, competition)
    job = organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.FAIR_PLAY,
        parameters={},
        created_by=actor.user if actor else None,
        now=now,
    )
    if actor is not None:
        Act(session, competition, actor, now).record("fair_play.start", f"scoring version {version.number}")
    return job


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest fair play job."""
    return next(iter(_jobs(session, competition)), None)


def last(session: Session, *, competition: Competition) -> tuple[OrganizerJob, Report] | None:
    """Return the newest successful job and its report."""
    for job in _jobs(session, competition):
        if job.state is JobState.DONE:
            return job, Report.from_dict(job.result)
    return None


def submissions(session: Session, *, report: Report) -> dict[int, Submission]:
    """Return the submissions in a report by id, with their current teams."""
    ids = {file.submission_id for team in report.teams for file in team.files}
    ids |= {number for pair in report.pairs for number in (pair.one_id, pair.other_id)}
    rows = session.scalars(
        select(Submission).where(Submission.id.in_(ids)).options(joinedload(Submission.team))
    )
    return {submission.id: submission for submission in rows}


def due(session: Session, *, now: datetime) -> list[Competition]:
    """Return the competitions that are due for a report.

    A competition is due until a day after its close if it has new files and had no job in the last day.
    """
    of_competition = and_(
        OrganizerJob.competition_id == Competition.id, OrganizerJob.kind == OrganizerJobKind.FAIR_PLAY
    )
    last_look = select(func.max(OrganizerJob.created_at)).where(of_competition).scalar_subquery()
    since = func.coalesce(last_look, Competition.opens_at)
    has_new = (
        select(Submission.id)
        .where(Submission.competition_id == Competition.id, Submission.submitted_at > since)
        .exists()
    )
    return list(
        session.scalars(
            select(Competition).where(
                Competition.state == CompetitionState.PUBLISHED,
                Competition.live_scoring_version_id.is_not(None),
                since <= now - EVERY,
                or_(Competition.closes_at.is_(None), Competition.closes_at > now - EVERY),
                has_new,
            )
        )
    )


def _jobs(session: Session, competition: Competition) -> Sequence[OrganizerJob]:
    return organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.FAIR_PLAY, limit=5)


def _forget_older(session: Session, competition: Competition) -> None:
    """Delete the jobs before the last successful one; each report is complete, so they are not needed."""
    kept = next((job for job in _jobs(session, competition) if job.state is JobState.DONE), None)
    if kept is not None:
        session.execute(
            delete(OrganizerJob).where(
                OrganizerJob.competition_id == competition.id,
                OrganizerJob.kind == OrganizerJobKind.FAIR_PLAY,
                OrganizerJob.id < kept.id,
            )
        )


@dataclass(frozen=True, slots=True)
class File:
    """A submission's file; `auc` is its term with a value by chance, on the public rows.

    `is_known` marks organizers' files and benchmarks, which are compared only with participants' files.
    """

    submission_id: int
    team_id: int
    sha256: str
    submitted_at: datetime
    auc: float | None
    is_known: bool


def newest_files(session: Session, *, competition: Competition, rows: int) -> tuple[list[File], int]:
    """Return the newest files of a competition in chronological order, and the number of older files."""
    version = competition.live_scoring_version
    specs = metric.of_version(version).describe().terms if version else ()
    term = next((spec.name for spec in specs if spec.chance is not None), None)
    newest = session.execute(
        select(
            Submission.id,
            Submission.team_id,
            Submission.sha256,
            Submission.submitted_at,
            null() if term is None else Score.terms[term].as_float(),
            or_(Team.is_organizers, Submission.kind == SubmissionKind.BENCHMARK),
        )
        .join(Team, Team.id == Submission.team_id)
        .outerjoin(
            Score,
            and_(
                Score.submission_id == Submission.id,
                Score.scoring_version_id == competition.live_scoring_version_id,
                Score.split == Split.PUBLIC,
            ),
        )
        .where(
            Submission.competition_id == competition.id,
            Submission.status.in_((SubmissionStatus.SCORED, SubmissionStatus.PENDING)),
            Submission.file_deleted_at.is_(None),
        )
        .order_by(Submission.submitted_at.desc(), Submission.id.desc())
    ).all()
    limit = min(MAX_FILES, MAX_CELLS // max(rows, 1))
    return [File(*row) for row in reversed(newest[:limit])], max(len(newest) - limit, 0)


def mark(act: Act, *, line: str, reason: str) -> FairPlayMark:
    """Mark a row as reviewed, or change the mark's reason; raise MarkNeedsReason or UnknownLine."""
    if not reason.strip() or len(reason) > REASON_MAX_LENGTH:
        raise MarkNeedsReason
    session, competition = act.session, act.competition
    if line not in _lines(session, competition):
        raise UnknownLine
    stored = session.scalar(
        select(FairPlayMark).where(FairPlayMark.competition_id == competition.id, FairPlayMark.line == line)
    )
    if stored is None:
        stored = FairPlayMark(competition_id=competition.id, line=line)
        session.add(stored)
    stored.reason, stored.marked_at = reason.strip(), act.now
    stored.marked_by_id = act.actor.user.id if act.actor.user else None
    act.record("fair_play.mark", stored.line, reason=stored.reason)
    return stored


def _lines(session: Session, competition: Competition) -> set[str]:
    newest = last(session, competition=competition)
    if newest is None:
        return set()
    _, report = newest
    return {pair.line for pair in report.pairs} | {team.line for team in report.teams}


def marks_by_line(session: Session, *, competition: Competition) -> dict[str, FairPlayMark]:
    """Return a competition's marks by row name."""
    marks = session.scalars(
        select(FairPlayMark)
        .where(FairPlayMark.competition_id == competition.id)
        .options(joinedload(FairPlayMark.marked_by))
    )
    return {each.line: each for each in marks}
