"""Benchmark submissions: the sample submission and the baseline."""

import os

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.models import Competition, Submission, SubmissionKind
from grader.services.competitions import lifecycle, lookup
from grader.services.competitions.acting import Act
from grader.services.submissions import accepting
from grader.services.submissions.accepting import NewSubmission
from grader.services.submissions.refusal import NothingToScore
from grader.services.submissions.situation import SentFile
from grader.services.teams import rosters
from grader.storage.stores import Storage, StoredBlob
from grader.text import one_line

SAMPLE_NAME = "Sample submission"
BASELINE_NAME = "Baseline"
DESCRIPTION_MAX_LENGTH = 64


def publish(act: Act, *, storage: Storage) -> NewSubmission | None:
    """Publish a draft and add the sample submission; raise the errors of `lifecycle.publish`."""
    lifecycle.publish(act)
    return add_sample(act, storage=storage)


def add_sample(act: Act, *, storage: Storage) -> NewSubmission | None:
    """Add the sample submission, which scores exactly 0.50000; return None if it exists."""
    session, competition = act.session, act.competition
    sample = _sample(storage, competition)
    entered = select(Submission.id).where(
        Submission.competition_id == competition.id,
        Submission.kind == SubmissionKind.BENCHMARK,
        Submission.sha256 == sample.sha256,
    )
    if session.scalar(entered.limit(1)) is not None:
        return None
    return add(act, blob=sample, file_name="sample_submission.csv", name=SAMPLE_NAME)


def add(act: Act, *, blob: StoredBlob, file_name: str, name: str = "") -> NewSubmission:
    """Add a stored file as a benchmark, which is shown under its name with a score but no rank.

    Raises NothingToScore for a draft without a solution.
    """
    session, competition, now = act.session, act.competition, act.now
    if competition.live_scoring_version is None:
        raise NothingToScore
    made = accepting.create(
        session,
        competition=competition,
        team=rosters.require_organizers_team(session, competition=competition, now=now),
        user_id=act.user.id,
        file=SentFile(blob.sha256, blob.size),
        now=now,
        file_name=accepting.plain_file_name(file_name, "baseline.csv"),
        description=one_line(name, DESCRIPTION_MAX_LENGTH) or BASELINE_NAME,
        kind=SubmissionKind.BENCHMARK,
    )
    submission = made.submission
    act.record(
        "submission.benchmark",
        f"submission {submission.id}",
        after={"name": submission.description, "file": submission.file_name, "sha256": blob.sha256},
    )
    return made


def list_all(session: Session, *, competition: Competition) -> list[Submission]:
    """Return the benchmarks of a competition, oldest first."""
    query = select(Submission).where(
        Submission.competition_id == competition.id, Submission.kind == SubmissionKind.BENCHMARK
    )
    return list(session.scalars(query.order_by(Submission.id)))


def _sample(storage: Storage, competition: Competition) -> StoredBlob:
    """Return the sample submission's blob; its size is read from the storage."""
    sha256 = lookup.live(competition).solution.sample_submission_sha256
    with storage.open(sha256) as file:
        return StoredBlob(sha256, file.seek(0, os.SEEK_END))
