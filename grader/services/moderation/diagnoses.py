"""Submission diagnoses: request by organizers, publication after the reveal.

A diagnosis belongs to the scoring version that was live when it was requested.
"""

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerError, ParticipantError
from grader.metrics import registry
from grader.models import (
    Competition,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    Submission,
    SubmissionStatus,
)
from grader.reports import Analysis, formats
from grader.services.audit import log
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.jobs import organizer_jobs
from grader.services.leaderboards import submission_results
from grader.services.moderation.decisions import UnknownSubmissionHere
from grader.services.stored_json import StoredJson
from grader.storage.stores import Storage
from grader.visibility import Phase, Viewer


class DiagnosisParameters(StoredJson):
    """Parameters of a diagnosis: the submission, the one to compare it with, and the scoring version."""

    submission_id: int
    against_id: int | None
    scoring_version_id: int
    scoring_version: int


class NotScored(OrganizerError):
    """A submission without a score cannot be diagnosed."""

    public_name = "not_scored"
    message = "Submission #{submission_id} has no score, so there is nothing to diagnose."


class NothingToCompareWith(OrganizerError):
    """A submission cannot be compared with itself."""

    public_name = "nothing_to_compare_with"
    message = "A submission cannot be compared with itself. Choose another submission."


class OtherMetric(OrganizerError):
    """Only submissions under the bias metric can be diagnosed."""

    public_name = "no_diagnosis_of_metric"
    message = (
        "A diagnosis analyzes the AUCs of the bias metric. This competition has another metric, whose terms, "
        "groups and standard errors are on the page of the submission."
    )


class NoDiagnosis(OrganizerError):
    """The submission has no diagnosis."""

    public_name = "no_diagnosis"
    kind = ErrorKind.NOT_FOUND
    message = "Submission #{submission_id} has not been diagnosed."


class NotPublishable(OrganizerError):
    """The diagnosis cannot be published."""

    public_name = "not_publishable"


class DiagnosisNotPublished(ParticipantError):
    """The organizers have not published a diagnosis of the submission."""

    public_name = "diagnosis_not_published"
    kind = ErrorKind.NOT_FOUND
    message = "No diagnosis of submission {submission_id} has been published."


def request(act: Act, *, submission_id: int, against_id: int | None) -> OrganizerJob:
    """Request a diagnosis under the live scoring version, optionally with a comparison.

    Raises OtherMetric, UnknownSubmissionHere, NotScored or NothingToCompareWith.
    """
    session, competition = act.session, act.competition
    if not is_available(competition):
        raise OtherMetric
    if against_id == submission_id:
        raise NothingToCompareWith
    for each in (submission_id,) if against_id is None else (submission_id, against_id):
        if get(session, competition=competition, submission_id=each).status is not SubmissionStatus.SCORED:
            raise NotScored(submission_id=each)
    version = lookup.live(competition)
    job = organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.DIAGNOSE,
        parameters=DiagnosisParameters(
            submission_id=submission_id,
            against_id=against_id,
            scoring_version_id=version.id,
            scoring_version=version.number,
        ).as_dict(),
        created_by=act.actor.user,
        now=act.now,
    )
    act.record("diagnosis.start", f"submission #{submission_id}", after={"against": against_id})
    return job


def publish(act: Act, *, submission_id: int) -> None:
    """Publish the newest diagnosis of a team's private entry; this cannot be undone.

    Raises NotPublishable, NoDiagnosis or NotCounted.
    """
    session, competition = act.session, act.competition
    if competition.revealed_at is None:
        raise NotPublishable("A diagnosis can be published after the private leaderboard is revealed.")
    submission_results.get_counted(
        session,
        competition=competition,
        submission_id=submission_id,
        viewer=Viewer.ORGANIZER,
        phase=Phase.REVEALED,
    )
    job = newest(session, competition=competition, submission_id=submission_id)
    if job is None or job.state is not JobState.DONE:
        raise NoDiagnosis(submission_id=submission_id)
    if asked_of(job).against_id is not None:
        raise NotPublishable(
            "This diagnosis compares two submissions. Diagnose this submission without a comparison, then "
            "publish the result."
        )
    if is_published(job):
        raise NotPublishable("This diagnosis is already published.")
    job.result = job.result | {"published_at": act.now.isoformat()}
    submission = get(session, competition=competition, submission_id=submission_id)
    what = f"submission #{submission_id} of {log.mention(submission.team)}"
    act.record("diagnosis.publish", what, public_text=f"The diagnosis of {what} was published.")


def is_available(competition: Competition) -> bool:
    """Return whether the submissions of a competition can be diagnosed."""
    version = competition.live_scoring_version
    return version is None or registry.is_default(version.metric_settings)


def is_published(job: OrganizerJob) -> bool:
    """Return whether a diagnosis is public."""
    return "published_at" in job.result


def get(session: Session, *, competition: Competition, submission_id: int) -> Submission:
    """Return a competition's submission with its team; raise UnknownSubmissionHere."""
    submission = session.scalar(
        select(Submission)
        .where(Submission.id == submission_id, Submission.competition_id == competition.id)
        .options(joinedload(Submission.team))
    )
    if submission is None:
        raise UnknownSubmissionHere(submission_id=submission_id)
    return submission


def newest(
    session: Session, *, competition: Competition, submission_id: int, is_published: bool = False
) -> OrganizerJob | None:
    """Return the newest diagnosis job of a submission, optionally only a published one."""
    query = select(OrganizerJob).where(
        OrganizerJob.competition_id == competition.id,
        OrganizerJob.kind == OrganizerJobKind.DIAGNOSE,
        OrganizerJob.parameters["submission_id"].as_integer() == submission_id,
    )
    if is_published:
        query = query.where(OrganizerJob.result["published_at"].as_string().is_not(None))
    job: OrganizerJob | None = session.scalar(
        query.options(joinedload(OrganizerJob.created_by))
        .order_by(OrganizerJob.id.desc())
        .limit(1)
        .execution_options(populate_existing=True)
    )
    return job


def asked_of(job: OrganizerJob) -> DiagnosisParameters:
    """Return the parameters of a job."""
    return DiagnosisParameters.from_dict(job.parameters)


def is_current(job: OrganizerJob, competition: Competition) -> bool:
    """Return whether a diagnosis belongs to the live scoring version."""
    return asked_of(job).scoring_version_id == competition.live_scoring_version_id


def reports(storage: Storage, job: OrganizerJob | None) -> dict[str, Analysis]:
    """Return the results of a job by split; empty unless it succeeded."""
    if job is None or job.state is not JobState.DONE:
        return {}
    return formats.from_bytes(storage.read(job.result["sha256"]))
