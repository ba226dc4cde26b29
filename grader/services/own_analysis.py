"""What a team may learn of its own submission before the reveal: from its file alone, and from its table.

The histogram needs no truth: it is of all rows together, so that it tells nothing of labels or splits. What
holds a score back is ranked from the rounded public table that the team sees anyway.
"""

from dataclasses import dataclass

import numpy as np

from grader.files import FileRejected, RowIds, read_submission
from grader.metrics.analysis.distributions import Distribution, distribution, even_edges
from grader.metrics.analysis.power import HeldBack, held_back
from grader.models import ScoringVersion, Submission, SubmissionStatus
from grader.services.results import SplitResult
from grader.services.rules import Rules
from grader.storage import BlobDamaged, BlobMissing, Storage, StorageUnavailable

BINS = 25
# What is read while somebody waits for a page; larger files have no histogram there.
MAX_ROWS = 500_000
MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class _Line:
    """An identity with its AUCs as displayed."""

    name: str
    subgroup_auc: float | None
    bpsn_auc: float | None
    bnsp_auc: float | None


def histogram(storage: Storage, *, submission: Submission, version: ScoringVersion) -> Distribution | None:
    """Return how a scored file's predictions are distributed over all its rows.

    None for what has no score, for a file that is too large to be read now, whose predictions are too far
    apart for bins, or that cannot be read at the moment: the page does without.
    """
    solution = version.solution
    if (
        submission.status is not SubmissionStatus.SCORED
        or submission.size_bytes > MAX_BYTES
        or solution.row_count > MAX_ROWS
    ):
        return None
    try:
        row_ids = RowIds.from_bytes(storage.read(solution.row_ids_sha256))
        predictions = read_submission(storage.read(submission.sha256), row_ids).predictions
    except (BlobDamaged, BlobMissing, StorageUnavailable, FileRejected):
        return None
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(np.ptp(predictions))):
            return None
    return distribution(predictions, even_edges(predictions, BINS))


def holding_back(result: SplitResult | None, version: ScoringVersion) -> HeldBack | None:
    """Rank what holds a score back, from the displayed values; None where the viewer sees no table."""
    if result is None or not result.identities:
        return None
    lines = [
        _Line(row.name, row.cells["subgroup_auc"], row.cells["bpsn_auc"], row.cells["bnsp_auc"])
        for row in result.identities
    ]
    return held_back(lines, Rules.from_dict(version.metric_settings).metric)
