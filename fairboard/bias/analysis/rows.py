"""Rows of one model: labels, predictions, identities and pair counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairboard.bias.counts import Comparison, IdentityCounts, PairCounts
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.pair_counting import count_pairs, count_ranks
from fairboard.bias.prepared import (
    BoolArray,
    FloatArray,
    IndexArray,
    PreparedSplit,
    Scalar,
    as_vector,
    refuse_where,
)
from fairboard.bias.subgroups import Cell, comparisons, overall_comparison
from fairboard.ranks import RankArray, dense_ranks

Background = Literal["all", "annotated"]


@dataclass(frozen=True, eq=False)
class Rows:
    """The labels, predictions and identities of n rows as read-only arrays, created by `Rows.of`.

    Attributes
    ----------
    labels : ndarray of float64, shape (n,)
        Finite numbers; a row is positive if ``label >= settings.label_threshold``.
    predictions : ndarray of float64, shape (n,)
        Finite numbers.
    identities : mapping of str to ndarray of float64, each of shape (n,)
        A row mentions an identity if ``value >= settings.identity_threshold``; NaN is a blank.
    settings : MetricSettings
        The metric settings that contain the two thresholds.
    background : {"all", "annotated"}
        The background of an identity: with ``"all"``, all rows that do not mention it, as in the score; with
        ``"annotated"``, only those that are not blank.
    """

    labels: FloatArray
    predictions: FloatArray
    identities: Mapping[str, FloatArray]
    settings: MetricSettings
    background: Background

    @classmethod
    def of(
        cls,
        labels: ArrayLike,
        predictions: ArrayLike,
        identities: Mapping[str, ArrayLike],
        *,
        settings: MetricSettings | None = None,
        background: Background = "all",
    ) -> "Rows":
        """Validate the arrays and convert them to a common form.

        Parameters
        ----------
        labels, predictions : array_like, shape (n,)
            Booleans or finite numbers.
        identities : mapping of str to array_like, each of shape (n,)
            Booleans or numbers; NaN is a blank.
        settings : MetricSettings, optional
            By default, the settings of the Kaggle competition.
        background : {"all", "annotated"}
            The background of an identity, as described for `Rows`.

        Returns
        -------
        Rows

        Raises
        ------
        ValueError
            If an array has the wrong shape, length or content; the message contains the argument's name.
        """
        if background not in get_args(Background):
            raise ValueError(f'`background` must be "all" or "annotated", not {background!r}.')
        truth = _finite("labels", as_vector("labels", labels))
        columns = {}
        for name, values in identities.items():
            argument = f"identities[{name!r}]"
            columns[name] = _read_only(as_vector(argument, values, rows=truth.size))
            refuse_where(np.isinf(columns[name]), argument, "finite or blank")
        return cls(
            labels=truth,
            predictions=_finite("predictions", as_vector("predictions", predictions, rows=truth.size)),
            identities=MappingProxyType(columns),
            settings=settings or MetricSettings(),
            background=background,
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.labels.size

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the identities, in input order."""
        return tuple(self.identities)

    @cached_property
    def positive(self) -> BoolArray:
        """Mask of the positive rows, of shape (n,)."""
        return _read_only(self.labels >= self.settings.label_threshold)

    @cached_property
    def ranks(self) -> RankArray:
        """The `dense_ranks` of the predictions, of shape (n,)."""
        return _read_only(dense_ranks(self.predictions))

    @cached_property
    def split(self) -> PreparedSplit:
        """The rows as a split with all identities in the score."""
        return _split(self.positive, self.names, list(self.mentions.values()))

    @cached_property
    def pair_counts(self) -> PairCounts:
        """The pair counts of the split, in which a blank counts as no mention."""
        return count_ranks(self.split, self.ranks)

    @cached_property
    def mentions(self) -> Mapping[str, IndexArray]:
        """For each identity, the numbers of the rows that mention it, ascending."""
        return {name: np.flatnonzero(mentioned) for name, mentioned in self.members.items()}

    @cached_property
    def members(self) -> Mapping[str, BoolArray]:
        """For each identity, a mask of the rows that mention it, of shape (n,)."""
        threshold = self.settings.identity_threshold
        return MappingProxyType(
            {name: _read_only(values >= threshold) for name, values in self.identities.items()}
        )

    def considered(self, name: str) -> BoolArray:
        """Return a mask of the rows in the subgroup or the background of an identity."""
        if self.background == "all":
            return np.ones(self.size, np.bool_)
        return ~np.isnan(self.identities[name])

    def considered_together(self) -> Iterator[tuple[Sequence[str], BoolArray]]:
        """Yield groups of identities that are compared on the same rows, with a mask of these rows."""
        if self.background == "all":
            yield self.names, np.ones(self.size, np.bool_)
            return
        together: dict[bytes, list[str]] = {}
        for name in self.names:
            together.setdefault(np.packbits(self.considered(name)).tobytes(), []).append(name)
        for names in together.values():
            yield names, self.considered(names[0])

    def background_of(self, name: str) -> BoolArray:
        """Return a mask of the background rows of an identity, of shape (n,)."""
        return self.considered(name) & ~self.members[name]

    def where(self, kept: BoolArray) -> "Rows":
        """Return the rows that a mask selects, in their original order."""
        return Rows(
            labels=_read_only(self.labels[kept]),
            predictions=_read_only(self.predictions[kept]),
            identities=MappingProxyType(
                {name: _read_only(values[kept]) for name, values in self.identities.items()}
            ),
            settings=self.settings,
            background=self.background,
        )

    def only(self, names: Sequence[str]) -> "Rows":
        """Return the same rows with only the given identities, in the given order."""
        if tuple(names) == self.names:
            return self
        known = vars(self)
        kept: dict[str, Any] = {key: known[key] for key in ("positive", "ranks") if key in known}
        for key in ("identities", "members", "mentions"):
            if key in known:
                kept[key] = MappingProxyType({name: known[key][name] for name in names})
        if "pair_counts" in known:
            counts = {each.name: each for each in self.pair_counts.identities}
            kept["pair_counts"] = replace(self.pair_counts, identities=tuple(counts[name] for name in names))
        selected = replace(self, identities=kept.pop("identities"))
        vars(selected).update(kept)
        return selected

    def predicted(self, predictions: ArrayLike) -> "Rows":
        """Return the same rows with the predictions of another model.

        Raises
        ------
        ValueError
            If `predictions` does not contain one finite number for each row.
        """
        other = _finite("predictions", as_vector("predictions", predictions, rows=self.size))
        copy, known = replace(self, predictions=other), vars(self)
        vars(copy).update(
            (key, known[key]) for key in ("positive", "members", "mentions", "split") if key in known
        )
        return copy


def _finite(argument: str, array: FloatArray) -> FloatArray:
    refuse_where(~np.isfinite(array), argument, "finite")
    return _read_only(array)


def _read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The comparisons of a set of rows.

    Attributes
    ----------
    overall : Comparison
        All positive rows compared with all negative rows, independent of the background.
    cells : mapping of str to mapping of Cell to Comparison
        For each identity, the five comparisons by cell.
    backgrounds : mapping of str to Comparison
        For each identity, the positive background rows compared with the negative background rows.
    """

    overall: Comparison
    cells: Mapping[str, Mapping[Cell, Comparison]]
    backgrounds: Mapping[str, Comparison]


def count(rows: Rows, kept: BoolArray | None = None) -> CountedRows:
    """Count the pairs of all comparisons, as exact integers.

    Parameters
    ----------
    rows : Rows
        The rows to count. Identities with the same blanks are counted together, with one sort.
    kept : ndarray of bool, shape (rows.size,), optional
        Mask of the rows to count, equivalent to counting `rows.where(kept)`. All rows by default.

    Returns
    -------
    Counted
        The counts, which do not depend on the order of the rows.
    """
    everything = np.ones(rows.size, np.bool_) if kept is None else kept
    cells: dict[str, Mapping[Cell, Comparison]] = {}
    backgrounds: dict[str, Comparison] = {}
    overall = None
    for names, considered in rows.considered_together():
        counts = _count(rows, names, considered & everything)
        if counts.rows == np.count_nonzero(everything):
            overall = overall_comparison(counts)
        for identity in counts.identities:
            cells[identity.name] = comparisons(counts, identity)
            backgrounds[identity.name] = _background(counts, identity)
    return CountedRows(
        overall or overall_comparison(_count(rows, (), everything)),
        {name: cells[name] for name in rows.names},
        {name: backgrounds[name] for name in rows.names},
    )


def _background(counts: PairCounts, identity: IdentityCounts) -> Comparison:
    """Return the comparison within the background: overall pairs minus subgroup pairs."""
    return Comparison(
        counts.overall_wins - identity.subgroup_wins - identity.bpsn_wins - identity.bnsp_wins,
        counts.positives - identity.positives,
        counts.negatives - identity.negatives,
    )


def _count(rows: Rows, names: Sequence[str], kept: BoolArray) -> PairCounts:
    """Count the pairs of the named identities on the rows selected by a mask."""
    if kept.all():
        return rows.only(names).pair_counts
    places = np.cumsum(kept) - 1
    members = [places[np.flatnonzero(rows.members[name] & kept)] for name in names]
    return count_pairs(_split(rows.positive[kept], names, members), rows.predictions[kept])


def _split(labels: BoolArray, names: Sequence[str], members: Sequence[IndexArray]) -> PreparedSplit:
    return PreparedSplit(labels, tuple(names), (True,) * len(names), tuple(members))
