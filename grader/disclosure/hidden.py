"""Hidden values of a competition as binary targets, such as whether a row is positive."""

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

THRESHOLD = 0.5
IGNORED, PUBLIC, PRIVATE = 0, 1, 2
LARGEST_INTEGER_DIGITS = 18
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
class Hidden:
    """All hidden values of the rows of a solution.

    Attributes
    ----------
    ids : sequence of str
        The n distinct row ids.
    targets : tuple of Target
    orders : tuple of array of intp
        Row positions in the orders that a file without ids may have.
    """

    ids: Sequence[str]
    targets: tuple[Target, ...]
    orders: tuple[NDArray[np.intp], ...]

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
        )

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
