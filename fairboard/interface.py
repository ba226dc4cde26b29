"""Metric interface: required data, values, and exactness.

The platform depends only on this module. `fairboard.metrics` lists the built-in metrics.
"""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

FloatArray = NDArray[np.float64]
RowArray = NDArray[np.int64]
# Numbers as float64; classes as positions in the list of classes; lists of classes with -1 in empty places.
Columns = Mapping[str, NDArray[Any]]
# The largest number whose square can be added 10^9 times.
LARGEST = 1e145


class Direction(enum.StrEnum):
    """Which score is the best."""

    HIGHEST = "highest"
    LOWEST = "lowest"


class Exactness(enum.StrEnum):
    """Reproducibility of a score.

    `counts`: integers, identical to the last bit on every machine. `sums`: numbers of rows, added exactly, so
    that the score does not depend on the order of the rows; identical on machines with the same CPU features.
    `opaque`: a function of the complete table, which may depend on anything.
    """

    COUNTS = "counts"
    SUMS = "sums"
    OPAQUE = "opaque"


class ColumnKind(enum.StrEnum):
    """The content of a column."""

    NUMBER = "number"
    CLASS = "class"
    CLASSES = "classes"  # a list of classes, the best first
    TEXT = "text"  # any text, for metrics that organizers wrote


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """A column of a solution or a submission, with the domain of its numbers."""

    name: str
    kind: ColumnKind = ColumnKind.NUMBER
    lowest: float = -LARGEST
    highest: float = LARGEST


@dataclass(frozen=True, slots=True)
class TermSpec:
    """A value that a metric reports in addition to the score.

    Attributes
    ----------
    name, title, heading : str
        The name in data, the title, and a shorter one for columns of tables.
    direction : Direction
        Which value is the best.
    rows, low, fault : str
        Phrases for the compared rows, the meaning of a low value, and the fault of a model with a low value
        in the group `{name}`. `{positive}` and `{negative}` stand for the competition's own words.
    weight : float or None
        The weight of the term if the score is a weighted sum of the terms, whose best value is 1.
    is_over_groups : bool
        Whether the value is a mean over the values of groups.
    """

    name: str
    title: str
    direction: Direction = Direction.HIGHEST
    heading: str = ""
    rows: str = ""
    low: str = ""
    fault: str = ""
    weight: float | None = None
    is_over_groups: bool = False

    @property
    def short_title(self) -> str:
        """The heading, or else the title."""
        return self.heading or self.title


@dataclass(frozen=True, slots=True)
class Options:
    """The parameters of a metric in one competition; each metric uses some of them.

    Attributes
    ----------
    columns : tuple of str
        The names of the predicted columns of a metric that is a mean over columns.
    classes : tuple of str
        The closed set of classes.
    positive : str or None
        The class that counts as positive in a metric for two classes; by default, the last one.
    cutoff : int
        The number of places that count in a list of classes.
    decimals : int
        The number of displayed decimals of the score.
    """

    columns: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    positive: str | None = None
    cutoff: int = 5
    decimals: int = 5


@dataclass(frozen=True, slots=True)
class Description:
    """The data, values and exactness of a metric.

    Attributes
    ----------
    title, sentence : str
        The name of the metric, and one sentence about it.
    direction : Direction
        Which score is the best.
    exactness : Exactness
        How far a score can be reproduced.
    truth, predictions : tuple of ColumnSpec
        The columns of the solution and of a submission, without ids.
    terms : tuple of TermSpec
        The values reported in addition to the score.
    decimals, term_decimals : int
        The number of displayed decimals of the score, and of the terms if it is another one.
    cells : tuple of TermSpec
        The values of each group, if they are computed from the evidence.
    is_nonnegative : bool
        Whether no score is negative, so that groups can have a power mean.
    compares_classes, orders_classes : bool
        Whether the metric is undefined if all true values are equal, and whether the order of the classes
        matters.
    """

    title: str
    sentence: str
    direction: Direction
    exactness: Exactness
    truth: tuple[ColumnSpec, ...]
    predictions: tuple[ColumnSpec, ...]
    terms: tuple[TermSpec, ...] = ()
    decimals: int = 5
    term_decimals: int | None = None
    cells: tuple[TermSpec, ...] = ()
    is_nonnegative: bool = True
    compares_classes: bool = False
    orders_classes: bool = False

    @property
    def best(self) -> float | None:
        """The best possible score; None if the metric may be any function."""
        if self.exactness is Exactness.OPAQUE:
            return None
        return 1.0 if self.direction is Direction.HIGHEST else 0.0

    @property
    def is_weighted_sum(self) -> bool:
        """Whether the score is a weighted sum of the terms."""
        return bool(self.terms) and all(each.weight is not None for each in self.terms)

    @property
    def decimals_of_terms(self) -> int:
        """The number of displayed decimals of the terms."""
        return self.decimals if self.term_decimals is None else self.term_decimals


@dataclass(frozen=True, slots=True)
class MetricResult:
    """The values of one submission on one split.

    Attributes
    ----------
    score : float
        The score; always finite.
    terms : mapping of str to float
        The terms by name.
    evidence : mapping of str to object
        The integers or exact sums from which the score can be recomputed, as JSON data.
    groups : mapping of str to mapping
        For each group column, the `rows` and the `score` of each group.
    """

    score: float
    terms: Mapping[str, float] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas data frame with the score, the terms and the values of groups."""
        import pandas as pd

        values = [("", "", name, value) for name, value in {"score": self.score, **self.terms}.items()]
        values += [
            (column, group, "score", each["score"])
            for column, groups in self.groups.items()
            for group, each in groups.items()
        ]
        return pd.DataFrame(values, columns=["column", "group", "term", "value"])


@dataclass(frozen=True, eq=False, slots=True)
class PreparedRows:
    """The prepared data of the rows of one split, and the positions of these rows among all rows."""

    rows: RowArray
    data: Any


class UnsuitableTruth(ValueError):
    """The solution makes the metric undefined; `problems` lists all reasons."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = tuple(problems)


class UnsuitablePredictions(ValueError):
    """The predictions alone make the metric undefined, in `rows`."""

    def __init__(self, reason: str, rows: Sequence[int]) -> None:
        super().__init__(reason)
        self.reason, self.rows = reason, tuple(rows)


class Metric(Protocol):
    """A metric with its options; `name` and `version` are on every receipt.

    A score is always defined: a cause in the solution is refused by `prepare` (UnsuitableTruth), a cause in
    the predictions alone by `encode` (UnsuitablePredictions), and everything else has a defined value.
    """

    @property
    def name(self) -> str:
        """The name in settings and on receipts."""

    @property
    def version(self) -> str:
        """The version; it changes whenever a score may change."""

    @property
    def encoding(self) -> str:
        """The name of the form of encoded predictions; metrics with the same name encode alike."""

    def describe(self) -> Description:
        """Describe the metric."""

    def encode(self, predictions: Columns) -> Any:
        """Encode the predictions of all rows, in the order of the ids, once per file."""

    def prepare(self, truth: Columns, rows: RowArray) -> Any:
        """Prepare the rows of one split, given by their positions."""

    def score(self, prepared: Any, encoded: Any) -> MetricResult:
        """Compute the values of one file on one split."""


def prepare_all(parts: Iterable[tuple[str, Metric, Columns]], rows: RowArray) -> list[Any]:
    """Prepare metrics; raise UnsuitableTruth with the reasons of all, each after the prefix of its metric."""
    prepared, problems = list[Any](), list[str]()
    for prefix, metric, truth in parts:
        try:
            prepared.append(metric.prepare(truth, rows))
        except UnsuitableTruth as error:
            problems += [prefix + problem for problem in error.problems]
    if problems:
        raise UnsuitableTruth(problems)
    return prepared


def remarks_on(metric: Metric, predictions: Columns) -> list[str]:
    """Return sentences on accepted predictions, for the author of the file; few metrics have any."""
    remarks: list[str] = metric.remarks(predictions) if hasattr(metric, "remarks") else []
    return remarks


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group's row counts, its values and their standard errors; undefined values are None."""

    name: str
    counts: Mapping[str, int]
    cells: Mapping[str, float | None]
    errors: Mapping[str, float] = field(default_factory=dict)


@runtime_checkable
class Recounted(Metric, Protocol):
    """A metric whose receipts need no other proof, because the evidence contains the counts of each group."""

    def recount(self, evidence: Mapping[str, Any]) -> tuple[Mapping[str, int], Sequence[GroupLine]]:
        """Return the counts of the rows and the values of each group."""

    def loss_parts(
        self, terms: Mapping[str, float], groups: Sequence[GroupLine]
    ) -> dict[tuple[str, str], float]:
        """Return the parts of the distance to the best score by term and group, given displayed values."""
