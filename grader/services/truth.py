"""The hidden side of a solution: labels, identities and splits, as one blob that only workers open."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.metrics import MetricSettings, PreparedSplit, prepare
from grader.models import Split

IGNORED, PUBLIC, PRIVATE = 0, 1, 2
_USAGE = {Split.PUBLIC: PUBLIC, Split.PRIVATE: PRIVATE}


@dataclass(frozen=True, eq=False)
class Truth:
    """Values as the organizer wrote them, so that other thresholds can still be applied.

    `labels` and each of `identities` are float64 of shape (rows,), a blank identity is NaN; `usage` is int8:
    0 ignored, 1 public, 2 private. All are in the order of the solution's row ids.
    """

    labels: NDArray[np.float64]
    identities: Mapping[str, NDArray[np.float64]]
    usage: NDArray[np.int8]

    def rows(self, split: Split) -> NDArray[np.intp]:
        """Return the positions of a split's rows."""
        return np.flatnonzero(self.usage == _USAGE[split])

    def prepare(
        self,
        split: Split,
        *,
        identities: Sequence[str],
        settings: MetricSettings,
        in_score: Sequence[str] | None = None,
    ) -> PreparedSplit:
        """Prepare one split with some identities; those `in_score`, by default all, make the score."""
        rows = self.rows(split)
        return prepare(
            self.labels[rows],
            {name: self.identities[name][rows] for name in identities},
            settings=settings,
            in_score=in_score,
        )

    def to_bytes(self) -> bytes:
        """Return everything as one blob: plain compressed arrays, no pickle."""
        blob = io.BytesIO()
        arrays: dict[str, NDArray[Any]] = {
            "names": np.frombuffer(json.dumps(list(self.identities)).encode(), dtype=np.uint8),
            "labels": self.labels,
            "usage": self.usage,
        }
        for number, values in enumerate(self.identities.values()):
            arrays[f"identity_{number}"] = values
        np.savez_compressed(blob, allow_pickle=False, **arrays)
        return blob.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> "Truth":
        """Read what `to_bytes` returned."""
        with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
            names = json.loads(arrays["names"].tobytes())
            return cls(
                labels=arrays["labels"],
                identities={name: arrays[f"identity_{number}"] for number, name in enumerate(names)},
                usage=arrays["usage"],
            )
