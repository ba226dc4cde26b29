"""A team's own submission: its histogram, and which identities hold the public score back.

The histogram needs no truth: it is of all rows together, so that it tells nothing of labels or splits. What
holds a score back is ranked from the rounded public table that the team sees anyway.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.files import FileRejected, RowIds, read_submission
from grader.metrics.analysis.distributions import Distribution
from grader.metrics.analysis.uncertainty.held_back import HeldBack, held_back
from grader.models import ScoringVersion, Submission, SubmissionStatus
from grader.services.analysis.histograms import Histograms
from grader.services.competitions.metric import Rules
from grader.services.leaderboards.submission_results import SplitResult
from grader.storage import BlobDamaged, BlobMissing, Storage, StorageUnavailable

# What is read while somebody waits for a page, where no worker kept the histogram of a larger file.
MAX_ROWS = 500_000
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class _Line:
    """An identity with its AUCs as displayed."""

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
    """Return how a scored file's predictions are distributed over all its rows.

    None for what has no score or whose predictions are too far apart for bins, and for what nobody has
    counted yet and is too large or cannot be read now: the page does without.
    """
    if submission.status is not SubmissionStatus.SCORED:
        return None
    kept = histograms.get(submission.sha256)
    if kept is not None:
        return kept.bins
    if submission.size_bytes > MAX_BYTES or version.solution.row_count > MAX_ROWS:
        return None
    try:
        row_ids = RowIds.from_bytes(storage.read(version.solution.row_ids_sha256))
        data = storage.read(submission.sha256)
        predictions = read_submission(data, row_ids, other_labels=other_labels).predictions
    except (BlobDamaged, BlobMissing, StorageUnavailable, FileRejected):
        return None
    return histograms.count(submission.sha256, predictions).bins


def holding_back(result: SplitResult | None, version: ScoringVersion) -> HeldBack | None:
    """Rank what holds a score back, from the displayed values; None where the viewer sees no table."""
    if result is None or not result.identities:
        return None
    lines = [
        _Line(row.name, row.cells["subgroup_auc"], row.cells["bpsn_auc"], row.cells["bnsp_auc"])
        for row in result.identities
    ]
    return held_back(lines, Rules.from_dict(version.metric_settings).metric)
