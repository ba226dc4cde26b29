"""Histograms of submissions' predictions: counted once, and kept in a cache on disk.

They are of all rows of a file together and hold no truth.
"""

from dataclasses import asdict, dataclass

import numpy as np

from grader.disk_cache import DiskCache
from grader.metrics.analysis.distributions import Distribution, distribution, even_edges
from grader.metrics.prepared import FloatArray
from grader.settings import Settings

# Raised whenever a file may give another histogram than before.
FORMAT = 1
BINS = 25
MAX_BYTES = 200_000_000  # about 50,000 of them


@dataclass(frozen=True, slots=True)
class Histogram:
    """What is drawn of a file; `bins` is None where its predictions are too far apart for bins."""

    bins: Distribution | None


class Histograms:
    """Histograms by the contents of their submissions."""

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


def _key(sha256: str) -> str:
    return f"{sha256}-{FORMAT}"


def _counted(predictions: FloatArray) -> Histogram:
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(np.ptp(predictions))):
            return Histogram(None)
    return Histogram(distribution(predictions, even_edges(predictions, BINS)))
