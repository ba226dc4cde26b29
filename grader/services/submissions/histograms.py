"""Histograms of predictions and agreement of two files, computed once and cached on disk.

Both cover all rows of a file together and depend on no label, identity or split.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from grader.fair_play.orders import FileOrder
from grader.metrics import dense_ranks
from grader.metrics.analysis.distributions import Distribution, distribution, even_edges
from grader.metrics.prepared import FloatArray
from grader.settings import Settings
from grader.storage.disk_cache import DiskCache

# Raised whenever a file may give another histogram than before.
FORMAT = 1
BINS = 25
MAX_BYTES = 200_000_000  # about 50,000 of them


@dataclass(frozen=True, slots=True)
class Histogram:
    """What is drawn of a file; `bins` is None where its predictions are too far apart for bins."""

    bins: Distribution | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of the row orders of two files.

    `correlation` is Spearman's, None if a file is constant; `moved_rows` counts the rows whose place differs.
    """

    correlation: float | None
    moved_rows: int
    rows: int


class Histograms:
    """Histograms by the contents of a submission, and agreements by the contents of two."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    @classmethod
    def of(cls, settings: Settings) -> "Histograms":
        """Return those that an installation keeps on this machine."""
        return cls(DiskCache(settings.cache() / "histograms", max_bytes=MAX_BYTES))

    def get(self, sha256: str) -> Histogram | None:
        """Return the histogram of a submission, None if it is not kept."""
        kept = self._files.get(_key(sha256))
        if kept is None:
            return None
        bins = kept.facts["bins"]
        if bins is None:
            return Histogram(None)
        edges, counts = tuple(bins["edges"]), tuple(bins["counts"])
        return Histogram(Distribution(edges, counts, bins["mean"], bins["deviation"]))

    def count(self, sha256: str, predictions: FloatArray) -> Histogram:
        """Count the histogram of a submission and keep it; never raises for want of a disk."""
        found = _counted(predictions)
        self._files.put(_key(sha256), asdict(found))
        return found

    def agreement(self, one: str, other: str, read: Callable[[str], FloatArray | None]) -> Agreement | None:
        """Return the agreement of two submissions by sha256, None if `read` has no predictions of one."""
        kept = self._files.get(_key(one, other))
        if kept is not None:
            return Agreement(**kept.facts)
        orders = [FileOrder(dense_ranks(file)) for each in (one, other) if (file := read(each)) is not None]
        if len(orders) < 2:
            return None
        moved = np.count_nonzero(orders[0].moved(orders[1]))
        found = Agreement(orders[0].correlation(orders[1]), int(moved), orders[0].ranks.size)
        self._files.put(_key(one, other), asdict(found))
        return found


def _key(*sha256s: str) -> str:
    return "-".join([*sorted(sha256s), str(FORMAT)])


def _counted(predictions: FloatArray) -> Histogram:
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(np.ptp(predictions))):
            return Histogram(None)
    return Histogram(distribution(predictions, even_edges(predictions, BINS)))
