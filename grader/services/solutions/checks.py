"""Check of an uploaded solution: start it, read its outcome, accept or dismiss the solution.

The web stores the file and adds the job; a worker reads the file, writes the report and stores the blobs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.files import ColumnRole
from grader.models import Competition, CompetitionState, DataFile, JobState, OrganizerJob, OrganizerJobKind
from grader.services.audit.log import Actor
from grader.services.competitions import metric
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import MetricChoice
from grader.services.jobs import organizer_jobs
from grader.services.solutions.intake import Commitment, StoredSolution
from grader.storage import StoredBlob

TEST_FILE_NAMES = ("test.csv", "test.csv.gz", "test.csv.zip", "test.zip")


class Purpose(StrEnum):
    """A draft's solution makes its first scoring version; a corrected one is for a rescoring."""

    DRAFT = "draft"
    CORRECTED = "corrected"


class NotAcceptable(OrganizerError):
    """A check cannot be accepted: it is not done, found a stop, or was made of something else since."""

    public_name = "not_acceptable"


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file whose bytes are stored, as a job's parameters name it."""

    name: str
    sha256: str
    size_bytes: int

    @classmethod
    def of(cls, name: str, blob: StoredBlob) -> "UploadedFile":
        """Return a stored blob under the name it came with."""
        return cls(name.replace("\0", "")[:255], blob.sha256, blob.size)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {"name": self.name, "sha256": self.sha256, "size_bytes": self.size_bytes}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "UploadedFile":
        """Read what `as_dict` returned."""
        return cls(**data)


def purpose_of(competition: Competition) -> Purpose:
    """Return what an uploaded solution is for: a draft's own, afterwards a correction."""
    return Purpose.DRAFT if competition.state is CompetitionState.DRAFT else Purpose.CORRECTED


def add(
    session: Session,
    *,
    competition: Competition,
    file: UploadedFile,
    test: UploadedFile | None = None,
    roles: Mapping[str, ColumnRole] | None = None,
    actor: Actor,
    now: datetime,
) -> OrganizerJob:
    """Add the job of checking a solution; without `roles` they are guessed.

    Without a `test` the test.csv among the competition's data files is compared, if there is one.
    """
    test = test or _test_of(session, competition)
    job = organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.CHECK,
        parameters={
            "purpose": purpose_of(competition).value,
            "file": file.as_dict(),
            "test": None if test is None else test.as_dict(),
            "roles": None if roles is None else {name: role.value for name, role in roles.items()},
            "choice": metric.of(competition).as_dict(),
            "live_scoring_version_id": competition.live_scoring_version_id,
        },
        created_by=actor.user,
        now=now,
    )
    Act(session, competition, actor, now).record(
        "solution.check",
        f"check {job.id}",
        after={"file": file.name},
    )
    return job


def add_again(
    session: Session,
    *,
    competition: Competition,
    job: OrganizerJob,
    roles: Mapping[str, ColumnRole],
    actor: Actor,
    now: datetime,
) -> OrganizerJob:
    """Add the job of checking the same file with other roles; the earlier one is put away."""
    test = job.parameters["test"]
    organizer_jobs.dismiss(session, job=job, now=now)
    return add(
        session,
        competition=competition,
        file=UploadedFile.from_dict(job.parameters["file"]),
        test=None if test is None else UploadedFile.from_dict(test),
        roles=roles,
        actor=actor,
        now=now,
    )


def get(session: Session, *, competition: Competition, job_id: int) -> OrganizerJob:
    """Return the job of a check; raise UnknownOrganizerJob."""
    return organizer_jobs.get(session, competition=competition, job_id=job_id, kind=OrganizerJobKind.CHECK)


def newest(session: Session, *, competition: Competition, limit: int = 5) -> list[OrganizerJob]:
    """Return the newest checks that were not put away."""
    return organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.CHECK, limit=limit)


def why_not_acceptable(competition: Competition, job: OrganizerJob) -> str | None:
    """Return in a sentence why a check cannot be accepted, None if it can."""
    parameters = job.parameters
    if job.state is not JobState.DONE:
        return "The check is not done."
    if job.result["solution"] is None:
        return "The report has something that stops the competition here."
    if parameters["purpose"] != purpose_of(competition):
        return "The competition was published since; check the file again, as a corrected solution."
    if parameters["purpose"] == Purpose.CORRECTED:
        if parameters["live_scoring_version_id"] != competition.live_scoring_version_id:
            return "The scores were switched to another version since; check the file again."
    elif metric.of(competition) not in _choices(job):
        return "The metric's settings were changed since; check the file again."
    return None


def accepted(session: Session, *, competition: Competition, job_id: int) -> StoredSolution:
    """Return the checked solution of a job; raise NotAcceptable with the reason."""
    job = get(session, competition=competition, job_id=job_id)
    reason = why_not_acceptable(competition, job)
    if reason is not None:
        raise NotAcceptable(reason)
    return stored_in(job)


def stored_in(job: OrganizerJob) -> StoredSolution:
    """Return the solution that a check has stored, with its commitment unless an older version checked it."""
    committed = job.result.get("commitment")
    return StoredSolution.from_dict(
        job.result["solution"], commitment=None if committed is None else Commitment.from_dict(committed)
    )


def _choices(job: OrganizerJob) -> tuple[MetricChoice, ...]:
    """Return the choice a draft's solution was checked with, and what accepting it makes of that."""
    asked = MetricChoice.from_dict(job.parameters["choice"])
    rules = StoredSolution.from_dict(job.result["solution"]).rules
    return asked, MetricChoice(rules.identities, asked.min_class_rows, rules.metric)


def _test_of(session: Session, competition: Competition) -> UploadedFile | None:
    found = session.scalars(
        select(DataFile).where(DataFile.competition_id == competition.id, DataFile.name.in_(TEST_FILE_NAMES))
    ).first()
    return None if found is None else UploadedFile(found.name, found.sha256, found.size_bytes)
