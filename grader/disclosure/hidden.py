"""Hidden values of a competition as binary targets, such as whether a row is positive."""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.disclosure.agreement import MOST_CATEGORIES

THRESHOLD = 0.5
IGNORED, PUBLIC, PRIVATE = 0, 1, 2
LARGEST_INTEGER_DIGITS = 18
LEVELS = (0.0, 0.25, 0.5, 0.75)  # quantiles of numbers; a copy or a monotone function agrees with each
MOST_CLASSES = 100
MOST_ROWS = 50_000  # size of the random sample of a larger solution


class TargetKind(enum.StrEnum):
    """The part of a solution to which a target belongs."""

    LABEL = "label"
    IDENTITY = "identity"
    USAGE = "Usage"


@dataclass(frozen=True, eq=False)
class Target:
    """A hidden binary value of each row; `name` is the solution column."""

    kind: TargetKind
    name: str
    is_true: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class HiddenValues:
    """A column of true values of any metric except that of bias.

    `values` are numbers, or the codes of classes, in several columns for lists of classes. `texts` are the
    classes as they are written.
    """

    name: str
    values: NDArray[Any]
    texts: Sequence[str] = ()

    def targets(self) -> Iterator[Target]:
        """Yield whether each row has a frequent class, or exceeds one of several levels."""
        if not self.texts:
            numbers = self.values[np.isfinite(self.values)]
            for level in np.unique(np.quantile(numbers, LEVELS)) if numbers.size else ():
                yield Target(TargetKind.LABEL, self.name, self.values > level)
            return
        codes, counts = np.unique(self.values[self.values >= 0], return_counts=True)
        for code in codes[np.argsort(-counts, kind="stable")][:MOST_CLASSES].tolist():
            has = self.values == code
            yield Target(TargetKind.LABEL, self.name, has.any(axis=1) if has.ndim > 1 else has)


@dataclass(frozen=True, eq=False)
class Hidden:
    """All hidden values of the rows of a solution.

    Attributes
    ----------
    ids : sequence of str
        The n distinct row ids.
    targets : tuple of Target
    orders : tuple of array of intp
        Row positions in the orders that a file without ids may have.
    written : tuple of (str, array of str)
        The names and the texts of columns with classes, which a file may contain as they are.
    """

    ids: Sequence[str]
    targets: tuple[Target, ...]
    orders: tuple[NDArray[np.intp], ...]
    written: tuple[tuple[str, NDArray[np.object_]], ...] = ()

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        *,
        label: tuple[str, NDArray[np.float64]],
        other_labels: Mapping[str, NDArray[np.float64]],
        identities: Mapping[str, NDArray[np.float64]],
        usage: NDArray[np.int8],
    ) -> "Hidden":
        """Return the hidden values of one solution.

        `usage` contains the codes `IGNORED`, `PUBLIC` and `PRIVATE`. Blank identities are NaN.
        """
        columns = [(TargetKind.LABEL, *label)]
        columns += [(TargetKind.LABEL, name, values) for name, values in other_labels.items()]
        columns += [(TargetKind.IDENTITY, name, values) for name, values in identities.items()]
        targets = [Target(kind, name, values >= THRESHOLD) for kind, name, values in columns]
        # Few rows may reach the threshold, so a copy is also recognized by the rows above zero.
        targets += [Target(kind, name, values > 0) for kind, name, values in columns]
        return cls._of_targets(ids, targets, usage)

    @classmethod
    def of_columns(
        cls, ids: Sequence[str], columns: Sequence[HiddenValues], usage: NDArray[np.int8]
    ) -> "Hidden":
        """Return the hidden values of a solution for any metric except that of bias."""
        found = cls._of_targets(ids, [target for each in columns for target in each.targets()], usage)
        written = [(each.name, np.array(each.texts, object)) for each in columns if each.texts]
        return replace(found, written=tuple(written))

    @classmethod
    def _of_targets(cls, ids: Sequence[str], targets: list[Target], usage: NDArray[np.int8]) -> "Hidden":
        targets += [Target(TargetKind.USAGE, "Usage", usage == code) for code in (IGNORED, PUBLIC, PRIVATE)]
        informative = [each for each in targets if 0 < np.count_nonzero(each.is_true) < len(ids)]
        return cls(ids, _distinct_targets(informative), _distinct_orders(_orders(ids, usage)))

    def with_other(self, other: "Hidden") -> "Hidden":
        """Return these hidden values together with those of another solution with the same ids."""
        places = {text: place for place, text in enumerate(self.ids)}
        here = np.array([places[text] for text in other.ids])  # positions of the other solution's rows
        back = np.argsort(here)
        targets = [Target(each.kind, each.name, each.is_true[back]) for each in other.targets]
        orders = [here[order] for order in other.orders]
        return Hidden(
            self.ids,
            _distinct_targets([*self.targets, *targets]),
            _distinct_orders([*self.orders, *orders]),
            (*self.written, *((name, texts[back]) for name, texts in other.written)),
        )

    @property
    def most_categories(self) -> int:
        """The number of values up to which those of a column may each stand for a class."""
        return MOST_CATEGORIES if not self.written else MOST_CLASSES

    @cached_property
    def drawn(self) -> NDArray[np.intp]:
        """Positions of the sampled rows in random order; every prefix is also a random sample."""
        return np.random.default_rng(0).permutation(len(self.ids))[:MOST_ROWS]

    @cached_property
    def index(self) -> dict[str, int]:
        """A mapping from each sampled id to its index in `drawn`."""
        return {self.ids[place]: number for number, place in enumerate(self.drawn.tolist())}

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """The index of each row in `drawn`, or -1 if the row is not sampled."""
        numbers = np.full(len(self.ids), -1)
        numbers[self.drawn] = np.arange(self.drawn.size)
        return numbers

    @cached_property
    def truths(self) -> NDArray[np.bool_]:
        """The targets of the sampled rows, of shape (rows, targets)."""
        if not self.targets:
            return np.empty((self.drawn.size, 0), np.bool_)
        return np.stack([each.is_true[self.drawn] for each in self.targets], axis=1)


def _distinct_targets(targets: Iterable[Target]) -> tuple[Target, ...]:
    distinct: dict[tuple[TargetKind, str, bytes], Target] = {}
    for each in targets:
        distinct.setdefault((each.kind, each.name, each.is_true.tobytes()), each)
    return tuple(distinct.values())


def _distinct_orders(orders: Iterable[NDArray[np.intp]]) -> tuple[NDArray[np.intp], ...]:
    return tuple({order.tobytes(): order for order in orders if order.size}.values())


def _orders(ids: Sequence[str], usage: NDArray[np.int8]) -> Iterator[NDArray[np.intp]]:
    """Yield orders of all, all scored, all public or all private rows: the solution's order, or sorted."""
    bases = [np.arange(len(ids)), np.array(sorted(range(len(ids)), key=ids.__getitem__), np.intp)]
    if all(text.isascii() and text.isdigit() and len(text) <= LARGEST_INTEGER_DIGITS for text in ids):
        bases.append(np.argsort(np.array([int(text) for text in ids], np.int64), kind="stable"))
    for base in bases:
        yield base
        for some in (usage != IGNORED, usage == PUBLIC, usage == PRIVATE):
            yield base[some[base]]
