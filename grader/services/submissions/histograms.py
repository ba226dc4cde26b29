"""Prediction histograms, and agreement between two files, cached on disk.

Both are computed from all rows of a file and do not depend on labels, identities or splits.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from grader.fair_play.orders import FileOrder
from grader.metrics import dense_ranks
from grader.metrics.analysis.distributions import Distribution, distribution
from grader.metrics.prepared import FloatArray
from grader.settings import Settings
from grader.storage.disk_cache import DiskCache

# Increase this number whenever the same file could produce a different histogram.
FORMAT = 1
BINS = 25
MAX_BYTES = 200_000_000  # enough for about 50,000 histograms


@dataclass(frozen=True, slots=True)
class Histogram:
    """The histogram of a file; `bins` is None if the range of its predictions is too wide to bin."""

    bins: Distribution | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two files on the order of their rows.

    `correlation` is Spearman's rank correlation, or None if a file is constant. `moved_rows` is the number of
    rows whose ranks differ.
    """

    correlation: float | None
    moved_rows: int
    rows: int


class Histograms:
    """A disk cache of histograms by file hash and of agreements by pair of hashes."""

    def __init__(self, files: DiskCache) -> None:
        self._files = files

    @classmethod
    def of(cls, settings: Settings) -> "Histograms":
        """Return the cache of an installation on this machine."""
        return cls(DiskCache(settings.cache() / "histograms", max_bytes=MAX_BYTES))

    def get(self, sha256: str) -> Histogram | None:
        """Return the cached histogram of a submission, or None if there is none."""
        kept = self._files.get(_key(sha256))
        if kept is None:
            return None
        bins = kept.facts["bins"]
        if bins is None:
            return Histogram(None)
        edges, counts = tuple(bins["edges"]), tuple(bins["counts"])
        return Histogram(Distribution(edges, counts, bins["mean"], bins["deviation"]))

    def count(self, sha256: str, predictions: FloatArray) -> Histogram:
        """Compute and cache the histogram of a submission; disk errors are ignored."""
        found = _counted(predictions)
        self._files.put(_key(sha256), asdict(found))
        return found

    def agreement(self, one: str, other: str, read: Callable[[str], FloatArray | None]) -> Agreement | None:
        """Return the agreement of two files, given by hash; None if `read` returns None for either."""
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
    return Histogram(distribution(predictions, bins=BINS))
