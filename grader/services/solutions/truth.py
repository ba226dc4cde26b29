"""Hidden values of a solution: stored form and random split."""

import hashlib
import hmac
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard.bias.metric import TARGET, identity_column
from fairboard.interface import Columns
from grader.files import Categories, RowIds, Solution
from grader.files.solution.canonical_form import canonical_table
from grader.models import Split

IGNORED, PUBLIC, PRIVATE = 0, 1, 2
_USAGE = {Split.PUBLIC: PUBLIC, Split.PRIVATE: PRIVATE}


@dataclass(frozen=True, eq=False)
class Truth:
    """The hidden values of a solution before thresholds are applied.

    `labels` and each item of `identities` are float64 arrays of shape (rows,); a blank annotation is NaN.
    `usage` is an int8 array with 0 for ignored, 1 for public and 2 for private rows. All arrays are in the
    order of the solution's row ids.

    `targets` contains the columns of any other metric: numbers, or the codes of classes. The first of them
    is also in `labels`, as numbers. The `slices` are its groups, and `classes` are the names of the codes.
    """

    labels: NDArray[np.float64]
    identities: Mapping[str, NDArray[np.float64]]
    usage: NDArray[np.int8]
    slices: Mapping[str, Categories] = field(default_factory=dict)
    targets: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()

    @classmethod
    def of(cls, solution: Solution, usage: NDArray[np.int8]) -> "Truth":
        """Return the hidden values of a solution file with the split of each row."""
        same = {each.name: getattr(solution, each.name) for each in fields(cls)}
        return cls(**same | {"usage": usage})

    def rows(self, split: Split) -> NDArray[np.intp]:
        """Return the positions of a split's rows."""
        return np.flatnonzero(self.usage == _USAGE[split])

    @property
    def columns(self) -> Columns:
        """The columns of the metric: the label and the identities, or the targets and the groups."""
        if self.targets:
            groups = {name: np.array(each.texts(), object) for name, each in self.slices.items()}
            return {**self.targets, **groups}
        return {TARGET: self.labels} | {
            identity_column(each): self.identities[each] for each in self.identities
        }

    def as_written(self, label: str = "label") -> dict[str, NDArray[np.float64] | list[str]]:
        """Return the columns of the metric as numbers or texts, as in a file; `label` names that of bias."""
        if not self.targets:
            return {label: self.labels, **dict(sorted(self.identities.items()))}
        groups = {name: self.slices[name].texts() for name in sorted(self.slices)}
        return {name: self._written(values) for name, values in self.targets.items()} | groups

    def _written(self, values: NDArray[Any]) -> NDArray[np.float64] | list[str]:
        if values.dtype.kind == "f":
            return values
        if values.ndim == 1:
            return [self.classes[code] for code in values.tolist()]
        return [" ".join(self.classes[code] for code in row if code >= 0) for row in values.tolist()]

    def canonical(self, row_ids: RowIds) -> Iterator[bytes]:
        """Yield the canonical form of the solution."""
        return canonical_table(row_ids, self.as_written(), self.usage)

    def to_bytes(self) -> bytes:
        """Return all values as one compressed NumPy archive without pickled objects."""
        columns: dict[str, Mapping[str, NDArray[Any]]] = {
            "identity": self.identities,
            "slice": {name: each.codes for name, each in self.slices.items()},
            "target": self.targets,
        }
        facts = {
            "columns": {kind: list(each) for kind, each in columns.items()},
            "values": [each.values for each in self.slices.values()],
            "classes": self.classes,
        }
        arrays = {
            f"{kind} {number}": values
            for kind, each in columns.items()
            for number, values in enumerate(each.values())
        }
        arrays |= {"labels": self.labels, "usage": self.usage}
        arrays["facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
        blob = io.BytesIO()
        np.savez_compressed(blob, allow_pickle=False, **arrays)
        return blob.getvalue()

    @classmethod
    def from_bytes(cls, blob: bytes) -> "Truth":
        """Parse the output of `to_bytes`."""
        with np.load(io.BytesIO(blob), allow_pickle=False) as arrays:
            facts = json.loads(arrays["facts"].tobytes())
            columns = {
                kind: {name: arrays[f"{kind} {number}"] for number, name in enumerate(names)}
                for kind, names in facts["columns"].items()
            }
            named = zip(columns["slice"].items(), facts["values"], strict=True)
            return cls(
                labels=arrays["labels"],
                identities=columns["identity"],
                usage=arrays["usage"],
                slices={name: Categories(tuple(values), codes) for (name, codes), values in named},
                targets=columns["target"],
                classes=tuple(facts["classes"]),
            )


def key_of(secret: str, slug: str) -> bytes:
    """Return a competition's own key, so that its split reveals nothing about other splits."""
    return hmac.digest(secret.encode(), f"split of {slug}".encode(), hashlib.sha256)


def split_in_half(
    row_ids: Iterable[str],
    positive: NDArray[np.bool_],
    members: Mapping[str, NDArray[np.bool_]],
    *,
    key: bytes,
) -> NDArray[np.int8]:
    """Split rows in half by a keyed hash of their ids, stratified by label and identities.

    Rows are sorted by label, by the identities that they mention and by the hash, and are then assigned to
    the splits alternately. Among the identities, the rarest is the first sort key, so it is split most
    evenly. Every stratum is split in half to within one row. Without the key, neither the ids nor their order
    reveal the split of a row.
    """
    digests = [hashlib.blake2b(text.encode(), digest_size=9, key=key).digest() for text in row_ids]
    hashes = np.frombuffer(b"".join(digest[:8] for digest in digests), dtype=">u8")
    rarest_first = sorted(members.values(), key=np.count_nonzero)
    # The last key of lexsort is the primary sort key.
    order = np.lexsort([hashes, *reversed(rarest_first), positive])
    first = digests[order[0]][8] & 1 if digests else 0
    usage = np.empty(len(digests), dtype=np.int8)
    usage[order[first::2]] = PUBLIC
    usage[order[1 - first :: 2]] = PRIVATE
    return usage
