"""Hidden values of a competition as yes-or-no targets, such as a positive or a public row."""

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
MOST_ROWS = 200_000  # of a larger solution so many are looked at, drawn at random


class Kind(enum.StrEnum):
    """Which part of a solution it is."""

    LABEL = "label"
    IDENTITY = "identity"
    USAGE = "Usage"


@dataclass(frozen=True, eq=False)
class Target:
    """One hidden thing.

    Attributes
    ----------
    kind : Kind
    name : str
        As organizers know it: the column of the solution.
    is_true : array of bool, shape (n,)
    values : array of float64, shape (n,), or None
        What the solution says, where it is a number.
    """

    kind: Kind
    name: str
    is_true: NDArray[np.bool_]
    values: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class Order:
    """Places of rows in an order that a file without ids may have; `is_by_usage` where Usage makes it."""

    places: NDArray[np.intp]
    is_by_usage: bool


@dataclass(frozen=True, eq=False)
class Hidden:
    """All that is hidden of the rows of one set of ids.

    Attributes
    ----------
    ids : sequence of str
        The n distinct ids.
    targets : tuple of Target
    orders : tuple of Order
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
        """Take what one solution hides; `usage` is 0 Ignored, 1 Public, 2 Private, a blank identity NaN."""
        columns = [(Kind.LABEL, *label)]
        columns += [(Kind.LABEL, name, values) for name, values in other_labels.items()]
        columns += [(Kind.IDENTITY, name, values) for name, values in identities.items()]
        targets = [Target(kind, name, values >= THRESHOLD, values) for kind, name, values in columns]
        targets += [Target(Kind.USAGE, "Usage", usage == code) for code in range(len(USAGE_NAMES))]
        informative = tuple(each for each in targets if 0 < np.count_nonzero(each.is_true) < len(ids))
        return cls(ids, informative, tuple(_orders(ids, usage)))

    def with_other(self, other: "Hidden") -> "Hidden":
        """Return this with what another solution of the same ids hides beside it."""
        places = {text: place for place, text in enumerate(self.ids)}
        here = np.array([places[text] for text in other.ids])  # of the other's rows
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
        """Places of the rows that are looked at, in a random order, so that any first part is a draw too."""
        return np.random.default_rng(0).permutation(len(self.ids))[:MOST_ROWS]

    @cached_property
    def index(self) -> dict[str, int]:
        """From each id that is looked at to its place in `drawn`."""
        return {self.ids[place]: number for number, place in enumerate(self.drawn.tolist())}

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """From each place to the number in `drawn`, -1 where the row is not looked at."""
        found = np.full(len(self.ids), -1)
        found[self.drawn] = np.arange(self.drawn.size)
        return found

    @cached_property
    def truths(self) -> NDArray[np.bool_]:
        """The targets of the rows that are looked at, of shape (rows, targets)."""
        if not self.targets:
            return np.empty((self.drawn.size, 0), np.bool_)
        return np.stack([each.is_true[self.drawn] for each in self.targets], axis=1)

    @cached_property
    def bounds(self) -> Bounds:
        """What a column of the rows that are looked at can be let go by."""
        return Bounds(self.truths, self.said)

    @cached_property
    def said(self) -> list[NDArray[np.float64] | None]:
        """What the solution says in numbers of the rows that are looked at, by target."""
        said = [None if each.values is None else each.values[self.drawn] for each in self.targets]
        return [None if each is None or _says_no_more(each) else each for each in said]


def _digest(places: NDArray[np.intp]) -> bytes:
    return hashlib.sha256(places.tobytes()).digest()


def _says_no_more(values: NDArray[np.float64]) -> bool:
    """Return whether numbers are two at most: then they are no more than true or false."""
    return np.unique(values[np.isfinite(values)]).size <= 2


def _orders(ids: Sequence[str], usage: NDArray[np.int8]) -> Iterator[Order]:
    """Yield the solution's order, that by text and by number: of all rows, a split, one after the other."""
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
