"""Hidden values of a solution, and the findings of a data file about them."""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ORDER = "the order of its rows"
THRESHOLD = 0.5
FEW_CLASSES = 10  # so many are also compared one by one


class TargetKind(enum.StrEnum):
    """The part of a solution to which a target belongs."""

    LABEL = "label"
    IDENTITY = "identity"
    USAGE = "Usage"


class Target(NamedTuple):
    """A hidden column: its kind and name, and the code of each row's class, or the rank of its number."""

    kind: TargetKind
    name: str
    codes: NDArray[np.intp]
    is_number: bool = False


@dataclass(frozen=True, eq=False)
class Hidden:
    """The ids of a solution and its hidden columns as classes."""

    ids: Sequence[str]
    targets: tuple[Target, ...]

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        *,
        labels: Mapping[str, NDArray[np.float64] | Sequence[str]],
        identities: Mapping[str, NDArray[np.float64]],
        usage: NDArray[np.int8],
    ) -> "Hidden":
        """Return the hidden columns. Labels are numbers or classes, and a blank identity is NaN."""
        columns: dict[TargetKind, Mapping[str, Any]] = {
            TargetKind.LABEL: labels,
            TargetKind.IDENTITY: identities,
            TargetKind.USAGE: {"Usage": usage.astype(str).tolist()},
        }
        targets = [
            Target(kind, name, *each)
            for kind, named in columns.items()
            for name, values in named.items()
            for each in _coded(values)
        ]
        return cls(ids, tuple(targets))


def _coded(values: NDArray[np.float64] | Sequence[str]) -> list[tuple[NDArray[np.intp], bool]]:
    """Return a column as classes, as ranks of numbers or, from 0 to 1, as whether it reaches a threshold."""
    if not isinstance(values, np.ndarray):
        names, codes = np.unique(np.array(values, object).astype(str), return_inverse=True)
        single = range(names.size) if 2 < names.size <= FEW_CLASSES else ()
        return [(each.astype(np.intp), False) for each in (codes, *(codes == code for code in single))]
    numbers = values[np.isfinite(values)]
    if numbers.size and (numbers.min() < 0 or numbers.max() > 1):
        return [(np.unique(values, return_inverse=True)[1], True)]
    return [(each.astype(np.intp), False) for each in (values >= THRESHOLD, values > 0)]


class Disclosure(NamedTuple):
    """A column that discloses hidden values.

    `table` is the table's path in the file, which is empty if the file is a single table. `column` is the
    column's name or `ORDER`. `names` are the solution columns with which it agrees in `rows` compared rows.
    """

    table: str
    column: str
    kind: TargetKind
    names: tuple[str, ...]
    rows: int


class Unopened(NamedTuple):
    """A part of a file that could not be checked; `name` is its path, which is empty for the whole file."""

    name: str
    reason: str


@dataclass(frozen=True)
class Examined:
    """The result of the leak check of a file.

    `unopened` are the first parts that could not be checked. `preview` contains the first rows and the column
    statistics of the first table.
    """

    disclosures: Sequence[Disclosure] = ()
    unopened: Sequence[Unopened] = ()
    preview: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {
            "disclosures": [each._asdict() for each in self.disclosures],
            "unopened": [each._asdict() for each in self.unopened],
            "preview": self.preview,
        }
