"""Annotations: rows with several labels and identities, and the raters' fractions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from grader.metrics.analysis.rows import Background, Rows
from grader.metrics.metric_settings import MetricSettings
from grader.metrics.prepared import BoolArray, FloatArray, IndexArray, as_vector, refuse_where

TENTHS = tuple(tenth / 10 for tenth in range(11))


@dataclass(frozen=True, eq=False)
class Annotations:
    """Several labels and identities of n rows, without any model. Made by `Annotations.of`.

    Attributes
    ----------
    labels, identities : mapping of str to ndarray of float64, each of shape (n,)
        Usually the fraction of raters who said so; NaN is a blank. A row without a label takes no part
        in what is said about that label.
    settings : MetricSettings
        Holds the thresholds from which a value counts as true.
    background : {"all", "annotated"}
        Whether a row in which an identity is blank counts as one that does not mention it, as the score
        has it, or takes no part in what is said about that identity.
    """

    labels: Mapping[str, FloatArray]
    identities: Mapping[str, FloatArray]
    settings: MetricSettings
    background: Background

    @classmethod
    def of(
        cls,
        labels: Mapping[str, ArrayLike],
        identities: Mapping[str, ArrayLike],
        *,
        settings: MetricSettings | None = None,
        background: Background = "all",
    ) -> "Annotations":
        """Check the arrays and bring them into one form.

        Parameters
        ----------
        labels, identities : mapping of str to array_like, each of shape (n,)
            Booleans or finite numbers; NaN is a blank.
        settings : MetricSettings, optional
            By default those of the Kaggle competition.
        background : {"all", "annotated"}
            What a blank identity means.

        Returns
        -------
        Annotations

        Raises
        ------
        ValueError
            If there is no label, or an array has the wrong shape, length or content; the message names
            the argument.
        """
        if background not in get_args(Background):
            raise ValueError(f'`background` must be "all" or "annotated", not {background!r}.')
        if not labels:
            raise ValueError("`labels` must hold at least one label.")
        first = as_vector(f"labels[{next(iter(labels))!r}]", next(iter(labels.values())))
        return cls(
            labels=_columns("labels", labels, first.size),
            identities=_columns("identities", identities, first.size),
            settings=settings or MetricSettings(),
            background=background,
        )

    @property
    def size(self) -> int:
        """Number of rows."""
        return next(iter(self.labels.values())).size

    @property
    def label_names(self) -> tuple[str, ...]:
        """The labels, in the order they were given."""
        return tuple(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The identities, in the order they were given."""
        return tuple(self.identities)

    @cached_property
    def positive(self) -> Mapping[str, BoolArray]:
        """For each label, which rows have it, of shape (n,)."""
        threshold = self.settings.label_threshold
        return {name: values >= threshold for name, values in self.labels.items()}

    @cached_property
    def labelled(self) -> Mapping[str, BoolArray]:
        """For each label, in which rows it is not blank, of shape (n,)."""
        return {name: ~np.isnan(values) for name, values in self.labels.items()}

    @cached_property
    def members(self) -> Mapping[str, BoolArray]:
        """For each identity, which rows mention it, of shape (n,)."""
        threshold = self.settings.identity_threshold
        return {name: values >= threshold for name, values in self.identities.items()}

    @cached_property
    def considered(self) -> Mapping[str, BoolArray]:
        """For each identity, which rows take part in what is said about it, of shape (n,)."""
        if self.background == "all":
            return dict.fromkeys(self.identities, np.ones(self.size, np.bool_))
        return {name: ~np.isnan(values) for name, values in self.identities.items()}

    def rows(self, label: str, predictions: ArrayLike) -> Rows:
        """Return the rows that have one of the labels, beside predictions of all rows.

        Raises
        ------
        ValueError
            If there is not one finite prediction for each row.
        """
        argument = f"predictions[{label!r}]"
        scores = as_vector(argument, predictions, rows=self.size)
        refuse_where(~np.isfinite(scores), argument, "finite")
        identities = MappingProxyType(dict(self.identities))
        rows = Rows(self.labels[label], scores, identities, self.settings, self.background)
        labelled = self.labelled[label]
        return rows if labelled.all() else rows.where(labelled)

    def at(self, kept: BoolArray | IndexArray) -> "Annotations":
        """Return only some of the rows: those that are true, or those of some numbers, in that order."""
        return Annotations(
            {name: values[kept] for name, values in self.labels.items()},
            {name: values[kept] for name, values in self.identities.items()},
            self.settings,
            self.background,
        )

    def only(self, names: Sequence[str]) -> "Annotations":
        """Return the same rows with some of the identities, in the order given."""
        identities = {name: self.identities[name] for name in names}
        return Annotations(self.labels, identities, self.settings, self.background)

    def mentioned_by(self, minimum_size: int) -> "Annotations":
        """Return the same rows with the identities that at least so many of them mention."""
        return self.only([name for name, size in self.sizes().items() if size >= minimum_size])

    def sizes(self) -> dict[str, int]:
        """Count the rows that mention each identity."""
        return {name: int(np.count_nonzero(mentions)) for name, mentions in self.members.items()}


def _columns(argument: str, columns: Mapping[str, ArrayLike], rows: int) -> dict[str, FloatArray]:
    checked = {}
    for name, values in columns.items():
        array = as_vector(f"{argument}[{name!r}]", values, rows=rows)
        refuse_where(np.isinf(array), f"{argument}[{name!r}]", "finite or blank")
        checked[name] = array.view()
        checked[name].flags.writeable = False
    return checked


@dataclass(frozen=True, slots=True)
class ThresholdCount:
    """How many rows of a column count as true from a threshold on.

    Attributes
    ----------
    threshold : float
    rows : int
        With a value of at least the threshold.
    share : float or None
        Of the rows that are not blank; None without such rows.
    """

    threshold: float
    rows: int
    share: float | None


@dataclass(frozen=True, slots=True)
class FractionCounts:
    """The values of one column.

    Attributes
    ----------
    name : str
    rows, blanks : int
        Rows with a value, and without one.
    tenths : tuple of int
        How many values are 0, 0.1, … 1 when rounded to tenths: the bars of Figure 5.
    sweep : tuple of ThresholdCount
        In the order of the thresholds.
    """

    name: str
    rows: int
    blanks: int
    tenths: tuple[int, ...]
    sweep: tuple[ThresholdCount, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


def count_fractions(
    name: str, values: FloatArray, thresholds: Sequence[float] = TENTHS[1:]
) -> FractionCounts:
    """Count the values of a column by tenths and from thresholds on.

    Parameters
    ----------
    name : str
    values : ndarray of float64, shape (n,)
        In [0, 1]; NaN is a blank.
    thresholds : sequence of float
        Those to sweep over.

    Returns
    -------
    FractionCounts

    Raises
    ------
    ValueError
        If a value is outside [0, 1].

    Notes
    -----
    Hann, Kalil and Payne, Figure 5. A value halfway between two tenths goes to the even one, as NumPy
    rounds. The thresholds are compared with the values themselves, not with the tenths.

    Examples
    --------
    >>> counts = count_fractions("toxic", np.array([0, 0, 0.04, 0.1, 0.5, 1, np.nan]), [0.1, 0.5])
    >>> counts.tenths
    (3, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1)
    >>> [(each.threshold, each.rows, each.share) for each in counts.sweep]
    [(0.1, 3, 0.5), (0.5, 2, 0.3333333333333333)]
    """
    given = values[~np.isnan(values)]
    refuse_where((given < 0) | (given > 1), name, "between 0 and 1")
    tenths = np.bincount(np.rint(given * 10).astype(np.int64), minlength=11)
    sweep = []
    for threshold in thresholds:
        rows = int(np.count_nonzero(given >= threshold))
        sweep.append(ThresholdCount(float(threshold), rows, rows / given.size if given.size else None))
    return FractionCounts(name, given.size, values.size - given.size, tuple(tenths.tolist()), tuple(sweep))
