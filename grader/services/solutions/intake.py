"""Storage of assessed solutions: blobs, other labels."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.files import write_sample_submission
from grader.models import Solution as SolutionRow
from grader.models import Split
from grader.services.competitions.metric import Rules
from grader.services.site.stored_json import StoredJson
from grader.services.solutions import report as solution_report
from grader.services.solutions.assessment import Assessed, UnusableSolution
from grader.storage.stores import Storage


class StoredSolution(StoredJson):
    """An assessed and stored solution for which every cell of the score is defined.

    `digest` is the SHA-256 of the canonical form, which is as secret as the content and is stored for its
    publication.
    """

    row_ids_sha256: str
    prepared_sha256: str
    sample_submission_sha256: str
    row_count: int
    public_row_count: int
    private_row_count: int
    rules: Rules
    metric_code_version: str
    report: dict[str, Any]
    digest: str


def keep(storage: Storage, assessed: Assessed) -> StoredSolution:
    """Store the blobs of an assessed solution; raise UnusableSolution if it is unscorable."""
    if assessed.unscorable:
        raise UnusableSolution(assessed.unscorable)
    row_ids, truth = assessed.row_ids, assessed.truth
    return StoredSolution(
        row_ids_sha256=storage.put(row_ids.text).sha256,
        prepared_sha256=storage.put(truth.to_bytes()).sha256,
        sample_submission_sha256=storage.put(write_sample_submission(row_ids, assessed.rules.columns)).sha256,
        row_count=len(row_ids),
        public_row_count=truth.rows(Split.PUBLIC).size,
        private_row_count=truth.rows(Split.PRIVATE).size,
        rules=assessed.rules,
        metric_code_version=assessed.rules.scorer.version,
        report=assessed.report,
        digest=storage.put(b"".join(truth.canonical(row_ids))).sha256,
    )


def require_no_stop(stored: StoredSolution) -> None:
    """Raise UnusableSolution if the report contains a stop."""
    stops = solution_report.stops(stored.report["findings"])
    if stops:
        raise UnusableSolution([finding["message"] for finding in stops])


def other_labels(session: Session, *, competition_id: int) -> tuple[str, ...]:
    """Return the names of the other labels in all solutions of the competition, oldest first.

    Under every scoring version, a submission may contain columns with these names, which are ignored.
    """
    reports = session.scalars(
        select(SolutionRow.report["other_labels"])
        .where(SolutionRow.competition_id == competition_id)
        .order_by(SolutionRow.number)
    )
    return tuple(dict.fromkeys(name for labels in reports for name in labels or ()))
