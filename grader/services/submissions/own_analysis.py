"""Analysis of a team's own submission: histogram, agreement with earlier files, diagnosis.

The histogram and the agreement are computed from all rows and do not depend on labels, identities or splits,
so a team can compute both from its own files. The ranking of identities uses the rounded public table, which
the team can see anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.files import FileRejected, RowIds, read_submission
from grader.metrics.analysis.distributions import Distribution
from grader.metrics.analysis.power_means import TermCost, diagnose
from grader.metrics.prepared import FloatArray
from grader.models import ScoringVersion, Submission, SubmissionStatus
from grader.services.competitions.metric import Rules
from grader.services.leaderboards.submission_results import SplitResult, Summary
from grader.services.submissions.histograms import Agreement, Histograms
from grader.storage.stores import BlobDamaged, BlobMissing, Storage, StorageUnavailable

# These limits apply to files that are read during a page request because no worker has cached their
# histograms.
MAX_ROWS = 500_000
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class _Line:
    """An identity and its displayed AUCs."""

    name: str
    subgroup_auc: float | None
    bpsn_auc: float | None
    bnsp_auc: float | None


def histogram(
    histograms: Histograms,
    storage: Storage,
    *,
    submission: Submission,
    version: ScoringVersion,
    other_labels: Sequence[str],
) -> Distribution | None:
    """Return the distribution of a scored file's predictions over all its rows.

    Returns None if the file has no score, if the range of its predictions is too wide to bin, or if no
    histogram is cached and the file is too large or cannot be read now. The page then omits the histogram.
    """
    if submission.status is not SubmissionStatus.SCORED:
        return None
    kept = histograms.get(submission.sha256)
    if kept is not None:
        return kept.bins
    predictions = _predictions(storage, submission, version, other_labels)
    return None if predictions is None else histograms.count(submission.sha256, predictions).bins


def earlier(session: Session, *, summary: Summary) -> list[Submission]:
    """Return the team's previous scored file and its best earlier one, newest first."""
    known = Submission.id.in_((summary.previous_id, summary.best_shown_before_id))
    return list(session.scalars(select(Submission).where(known).order_by(Submission.id.desc())))


def agreements(
    histograms: Histograms,
    storage: Storage,
    *,
    submission: Submission,
    earlier: Sequence[Submission],
    version: ScoringVersion,
    other_labels: Sequence[str],
) -> list[tuple[Submission, Agreement]]:
    """Return the agreement of a file's row order with that of each readable earlier file."""
    files = {each.sha256: each for each in (submission, *earlier)}
    read = cache(lambda sha256: _predictions(storage, files[sha256], version, other_labels))
    found = [(each, histograms.agreement(submission.sha256, each.sha256, read)) for each in earlier]
    return [(each, agreement) for each, agreement in found if agreement is not None]


def _predictions(
    storage: Storage, submission: Submission, version: ScoringVersion, other_labels: Sequence[str]
) -> FloatArray | None:
    """Return a file's predictions; None if it is too large for a page or cannot be read now."""
    if submission.size_bytes > MAX_BYTES or version.solution.row_count > MAX_ROWS:
        return None
    try:
        row_ids = RowIds.from_bytes(storage.read(version.solution.row_ids_sha256))
        data = storage.read(submission.sha256)
        return read_submission(data, row_ids, other_labels=other_labels).predictions
    except (BlobDamaged, BlobMissing, StorageUnavailable, FileRejected):
        return None


def diagnosis(result: SplitResult | None, version: ScoringVersion) -> tuple[TermCost, ...]:
    """Return the terms sorted by cost, computed from displayed values; empty if they are hidden."""
    if result is None:
        return ()
    lines = [
        _Line(row.name, row.cells["subgroup_auc"], row.cells["bpsn_auc"], row.cells["bnsp_auc"])
        for row in result.identities
    ]
    return diagnose(result.terms, lines, Rules.from_dict(version.metric_settings).metric)
