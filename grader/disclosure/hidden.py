"""Hidden values of a competition as binary targets, such as whether a row is positive."""

import enum
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from grader.disclosure.agreement import Bounds

THRESHOLD = 0.5
USAGE_NAMES = ("Ignored", "Public", "Private")
LARGEST_INTEGER_DIGITS = 18
MOST_ROWS = 200_000  # size of the random sample of a larger solution


class Kind(enum.StrEnum):
    """The part of a solution to which a target belongs."""

    LABEL = "label"
    IDENTITY = "identity"
    USAGE = "Usage"


@dataclass(frozen=True, eq=False)
class Target:
    """A hidden binary value of each row.

    Attributes
    ----------
    kind : Kind
    name : str
        The solution column.
    is_true : array of bool, shape (n,)
    values : array of float64, shape (n,), or None
        The solution's numeric values, or None if the column is not numeric.
    """

    kind: Kind
    name: str
    is_true: NDArray[np.bool_]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Order:
    """The row positions in a possible order of a file without ids, which may depend on Usage."""

    places: NDArray[np.intp]
    is_by_usage: bool


@dataclass(frozen=True, eq=False)
class Hidden:
    """All hidden values of the rows of a solution.

    Attributes
    ----------
    ids : sequence of str
        The n distinct row ids.
    targets : tuple of Target
    orders : tuple of Order
        Orders in which the rows may appear in a file without ids.
    """

    ids: Sequence[str]
    targets: tuple[Target, ...]
    orders: tuple[Order, ...]

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

        `usage` is 0 for Ignored, 1 for Public and 2 for Private rows. Blank identities are NaN.
        """
        columns = [(Kind.LABEL, *label)]
        columns += [(Kind.LABEL, name, values) for name, values in other_labels.items()]
        columns += [(Kind.IDENTITY, name, values) for name, values in identities.items()]
        targets = [Target(kind, name, values >= THRESHOLD, values) for kind, name, values in columns]
        targets += [Target(Kind.USAGE, "Usage", usage == code) for code in range(len(USAGE_NAMES))]
        informative = tuple(each for each in targets if 0 < np.count_nonzero(each.is_true) < len(ids))
        return cls(ids, informative, tuple(_orders(ids, usage)))

    def with_other(self, other: "Hidden") -> "Hidden":
        """Return these hidden values together with those of another solution with the same ids."""
        places = {text: place for place, text in enumerate(self.ids)}
        here = np.array([places[text] for text in other.ids])  # positions of the other solution's rows
        back = np.argsort(here)
        known = {(each.kind, each.name, each.is_true.tobytes()) for each in self.targets}
        added = [
            Target(
                each.kind, each.name, each.is_true[back], None if each.values is None else each.values[back]
            )
            for each in other.targets
        ]
        new = tuple(each for each in added if (each.kind, each.name, each.is_true.tobytes()) not in known)
        seen = {_digest(order.places) for order in self.orders}
        others = (Order(here[order.places], order.is_by_usage) for order in other.orders)
        orders = tuple(order for order in others if _digest(order.places) not in seen)
        return Hidden(self.ids, self.targets + new, self.orders + orders)

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
        found = np.full(len(self.ids), -1)
        found[self.drawn] = np.arange(self.drawn.size)
        return found

    @cached_property
    def truths(self) -> NDArray[np.bool_]:
        """The targets of the sampled rows, of shape (rows, targets)."""
        if not self.targets:
            return np.empty((self.drawn.size, 0), np.bool_)
        return np.stack([each.is_true[self.drawn] for each in self.targets], axis=1)

    @cached_property
    def bounds(self) -> Bounds:
        """The error bounds above which a column can be dropped."""
        return Bounds(self.truths, self.said)

    @cached_property
    def said(self) -> list[NDArray[np.float64] | None]:
        """For each target, the solution's numbers in the sampled rows, or None if they are binary."""
        said = [None if each.values is None else each.values[self.drawn] for each in self.targets]
        return [None if each is None or _says_no_more(each) else each for each in said]


def _digest(places: NDArray[np.intp]) -> bytes:
    return hashlib.sha256(places.tobytes()).digest()


def _says_no_more(values: NDArray[np.float64]) -> bool:
    """Return whether there are at most two distinct numbers, which `truths` already represents."""
    return np.unique(values[np.isfinite(values)]).size <= 2


def _orders(ids: Sequence[str], usage: NDArray[np.int8]) -> Iterator[Order]:
    """Yield the row orders that a file may have.

    The rows (all rows, one split, or both splits joined) may be in the solution's order or sorted.
    """
    seen = set()
    for base in _bases(ids):
        ignored, public, private = (base[usage[base] == code] for code in range(len(USAGE_NAMES)))
        orders = [Order(each, is_by_usage=False) for each in (base, base[usage[base] != 0], public, private)]
        parts = ((public, private), (public, private, ignored), (private, public))
        orders += [Order(np.concatenate(each), is_by_usage=True) for each in parts]
        for order in orders:
            if order.places.size and _digest(order.places) not in seen:
                seen.add(_digest(order.places))
                yield order


def _bases(ids: Sequence[str]) -> Iterator[NDArray[np.intp]]:
    yield np.arange(len(ids))
    yield np.array(sorted(range(len(ids)), key=ids.__getitem__), np.intp)
    if all(text.isascii() and text.isdigit() and len(text) <= LARGEST_INTEGER_DIGITS for text in ids):
        yield np.argsort(np.array([int(text) for text in ids], np.int64), kind="stable")
