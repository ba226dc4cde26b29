"""Histograms of a submission's predictions: count them and keep them as small files.

They are of all rows of a file together and hold no truth. Everything here can be counted again: nothing is
synced, no backup needs it, and whoever finds a histogram gone or damaged reads the submission instead.
"""

import json
import logging
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grader.metrics.analysis.distributions import Distribution, distribution, even_edges
from grader.metrics.prepared import FloatArray
from grader.settings import Settings

BINS = 25
# In each of 256 folders; the oldest half goes when there are more.
KEPT_IN_A_FOLDER = 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Histogram:
    """What is drawn of a file; `bins` is None where its predictions are too far apart for bins."""

    bins: Distribution | None


class Histograms:
    """Histograms as files `ab/abcdef….json` below a folder, which any number of processes share.

    One is named by the contents of its submission, and so never changes; it appears complete, by a rename.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @classmethod
    def of(cls, settings: Settings) -> "Histograms":
        """Return those that an installation keeps on this machine."""
        return cls(settings.cache() / "histograms")

    def get(self, sha256: str) -> Histogram | None:
        """Return the histogram of a submission, None if it is not kept."""
        try:
            return _read(json.loads(self._path(sha256).read_bytes()))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def count(self, sha256: str, predictions: FloatArray) -> Histogram:
        """Count the histogram of a submission and keep it; never raises for want of a disk."""
        found = _counted(predictions)
        path = self._path(sha256)
        try:
            _make_room(path.parent)
            _write(path, json.dumps(asdict(found)).encode())
        except OSError as error:
            logger.warning("A histogram could not be kept: %s.", error)
        return found

    def _path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / f"{sha256}.json"


def _counted(predictions: FloatArray) -> Histogram:
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(np.ptp(predictions))):
            return Histogram(None)
    return Histogram(distribution(predictions, even_edges(predictions, BINS)))


def _read(kept: Mapping[str, Any]) -> Histogram:
    bins = kept["bins"]
    if bins is None:
        return Histogram(None)
    edges, counts = tuple(map(float, bins["edges"])), tuple(map(int, bins["counts"]))
    if len(edges) != len(counts) + 1:
        raise ValueError("The file is damaged.")
    return Histogram(Distribution(edges, counts, bins["mean"], bins["deviation"]))


def _make_room(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = list(folder.iterdir())
    if len(kept) < KEPT_IN_A_FOLDER:
        return
    kept.sort(key=lambda path: path.stat().st_mtime)
    for path in kept[: len(kept) // 2]:
        path.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as draft:
        try:
            draft.write(content)
            draft.flush()
            Path(draft.name).replace(path)
        finally:
            Path(draft.name).unlink(missing_ok=True)
