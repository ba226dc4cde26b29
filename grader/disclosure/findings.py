"""Hidden values of a solution, and the findings of a data file about them."""

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

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


@dataclass(frozen=True, eq=False)
class Hidden:
    """The ids of a solution and its hidden columns by kind and name.

    The values are floating-point numbers, of which NaN is a blank, or classes.
    """

    ids: Sequence[str]
    columns: Mapping[tuple[TargetKind, str], NDArray[Any] | Sequence[str]]

    @cached_property
    def targets(self) -> list[tuple[TargetKind, str, NDArray[np.intp]]]:
        """The kind and name of each column with the codes of its values in ascending order.

        A column of fractions or of few classes is listed several times.
        """
        return [
            (kind, name, codes.astype(np.intp))
            for (kind, name), values in self.columns.items()
            for codes in _coded(np.asarray(values))
        ]


def _coded(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the codes of a column, of each of few classes or, for values from 0 to 1, of two thresholds."""
    if values.dtype.kind == "f" and np.nanmin(values, initial=0) >= 0 and np.nanmax(values, initial=0) <= 1:
        yield values >= THRESHOLD
        yield values > 0
        return
    distinct, codes = np.unique(values, return_inverse=True)
    yield codes
    for code in range(distinct.size) if 2 < distinct.size <= FEW_CLASSES else ():
        yield codes == code


@dataclass(frozen=True)
class Disclosure:
    """A column that discloses hidden values.

    `table` is the table's path in the file, which is empty if the file is a single table. `column` is the
    column's name or `ORDER`. `name` is the solution column with which it agrees in `rows` compared rows.
    """

    table: str
    column: str
    kind: TargetKind
    name: str
    rows: int


@dataclass(frozen=True)
class Examined:
    """The result of the leak check of a file.

    `unopened` has the reasons for the first parts that could not be checked, by path, which is empty for the
    whole file. `preview` contains the first rows and the column statistics of the first table.
    """

    disclosures: Sequence[Disclosure] = ()
    unopened: Mapping[str, str] = field(default_factory=dict)
    preview: dict[str, Any] | None = None
