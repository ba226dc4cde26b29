"""Storage of assessed solutions: blobs, public commitment, other labels."""

import secrets
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.files import write_sample_submission
from grader.files.solution.canonical_form import hashes
from grader.models import Solution as SolutionRow
from grader.models import Split
from grader.services.competitions.metric import Rules
from grader.services.site.stored_json import StoredJson
from grader.services.solutions import report as solution_report
from grader.services.solutions.assessment import Assessed, UnusableSolution
from grader.storage.stores import Storage

NONCE_BYTES = 32


class Commitment(StoredJson):
    """A commitment to a secret solution, which cannot be used to test guesses.

    `value` is the SHA-256 of the nonce followed by the canonical form. The nonce, in hexadecimal, is secret
    until the solution is published.
    """

    nonce: str
    value: str


def new_nonce() -> bytes:
    """Return a new random nonce."""
    return secrets.token_bytes(NONCE_BYTES)


class StoredSolution(StoredJson):
    """An assessed and stored solution for which every cell of the score is defined.

    `digest` is the SHA-256 of the canonical form, which is as secret as the content. If `commitment` is None,
    because the solution was copied, a worker creates one.
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
    commitment: Commitment | None


def keep(storage: Storage, assessed: Assessed) -> StoredSolution:
    """Store the blobs of an assessed solution; raise UnusableSolution if it is unscorable."""
    if assessed.unscorable:
        raise UnusableSolution(assessed.unscorable)
    row_ids, truth = assessed.row_ids, assessed.truth
    nonce = new_nonce()
    digest, committed = hashes(truth.canonical(row_ids), nonce=nonce)
    return StoredSolution(
        row_ids_sha256=storage.put(row_ids.to_bytes()).sha256,
        prepared_sha256=storage.put(truth.to_bytes()).sha256,
        sample_submission_sha256=storage.put(write_sample_submission(row_ids, assessed.rules.columns)).sha256,
        row_count=len(row_ids),
        public_row_count=truth.rows(Split.PUBLIC).size,
        private_row_count=truth.rows(Split.PRIVATE).size,
        rules=assessed.rules,
        metric_code_version=assessed.rules.scorer.version,
        report=assessed.report,
        digest=digest,
        commitment=Commitment(nonce=nonce.hex(), value=committed),
    )


def require_no_stop(stored: StoredSolution) -> None:
    """Raise UnusableSolution if the report contains a stop."""
    found = solution_report.stops(stored.report["findings"])
    if found:
        raise UnusableSolution([finding["message"] for finding in found])


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
