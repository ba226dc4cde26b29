"""Annotations: rows with several labels and identities, and histograms of rater fractions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from fairboard.bias.analysis.rows import Background, Rows
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.prepared import BoolArray, FloatArray, IndexArray, as_vector, refuse_where

TENTHS = tuple(tenth / 10 for tenth in range(11))


@dataclass(frozen=True, eq=False)
class Annotations:
    """The labels and identities of n rows without predictions, created by `Annotations.of`.

    Attributes
    ----------
    labels, identities : mapping of str to ndarray of float64, each of shape (n,)
        Values of each row, usually the fraction of raters who assigned the label or identity; NaN is a
        blank. Rows with a blank label are excluded from all analyses of that label.
    settings : MetricSettings
        The metric settings that contain the thresholds.
    background : {"all", "annotated"}
        The treatment of blank identities. With ``"all"``, a blank counts as no mention, as in the score.
        With ``"annotated"``, rows with a blank identity are excluded from all analyses of that identity.
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
        """Validate the arrays and convert them to a common form.

        Parameters
        ----------
        labels, identities : mapping of str to array_like, each of shape (n,)
            Booleans or finite numbers; NaN is a blank.
        settings : MetricSettings, optional
            By default, the settings of the Kaggle competition.
        background : {"all", "annotated"}
            The treatment of blank identities, as described for `Annotations`.

        Returns
        -------
        Annotations

        Raises
        ------
        ValueError
            If there is no label, or an array has the wrong shape, length or content. The message contains
            the argument's name.
        """
        if background not in get_args(Background):
            raise ValueError(f'`background` must be "all" or "annotated", not {background!r}.')
        if not labels:
            raise ValueError("`labels` must contain at least one label.")
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
    def names(self) -> tuple[str, ...]:
        """The names of the identities, in input order."""
        return tuple(self.identities)

    @cached_property
    def positive(self) -> Mapping[str, BoolArray]:
        """For each label, a mask of the positive rows, of shape (n,)."""
        threshold = self.settings.label_threshold
        return {name: values >= threshold for name, values in self.labels.items()}

    @cached_property
    def labelled(self) -> Mapping[str, BoolArray]:
        """For each label, a mask of the rows in which it is not blank, of shape (n,)."""
        return {name: ~np.isnan(values) for name, values in self.labels.items()}

    @cached_property
    def members(self) -> Mapping[str, BoolArray]:
        """For each identity, a mask of the rows that mention it, of shape (n,)."""
        threshold = self.settings.identity_threshold
        return {name: values >= threshold for name, values in self.identities.items()}

    @cached_property
    def considered(self) -> Mapping[str, BoolArray]:
        """For each identity, a mask of the rows included in its analyses, of shape (n,)."""
        if self.background == "all":
            return dict.fromkeys(self.identities, np.ones(self.size, np.bool_))
        return {name: ~np.isnan(values) for name, values in self.identities.items()}

    def rows(self, label: str, predictions: ArrayLike) -> Rows:
        """Return the rows in which a label is not blank, with their predictions.

        Raises
        ------
        ValueError
            If `predictions` does not contain one finite number for each row.
        """
        argument = f"predictions[{label!r}]"
        scores = as_vector(argument, predictions, rows=self.size)
        refuse_where(~np.isfinite(scores), argument, "finite")
        identities = MappingProxyType(dict(self.identities))
        rows = Rows(self.labels[label], scores, identities, self.settings, self.background)
        if not self.labelled[label].all():
            return rows.where(self.labelled[label])
        vars(rows).update(positive=self.positive[label], members=self.members)
        return rows

    def at(self, kept: BoolArray | IndexArray) -> "Annotations":
        """Return the rows that a mask selects, or the rows with the given numbers in that order."""
        return Annotations(
            {name: values[kept] for name, values in self.labels.items()},
            {name: values[kept] for name, values in self.identities.items()},
            self.settings,
            self.background,
        )

    def only(self, names: Sequence[str]) -> "Annotations":
        """Return the same rows with only the given identities, in the given order."""
        if tuple(names) == self.names:
            return self
        identities = {name: self.identities[name] for name in names}
        return replace(self, identities=identities)

    def mentioned_by(self, minimum_size: int) -> "Annotations":
        """Return the same rows with only the identities that at least `minimum_size` rows mention."""
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
    """The number of rows in which a column reaches a threshold.

    Attributes
    ----------
    threshold : float
    rows : int
        Number of rows with a value of at least the threshold.
    share : float or None
        Fraction of the non-blank rows; None if there are none.
    """

    threshold: float
    rows: int
    share: float | None


@dataclass(frozen=True, slots=True)
class FractionCounts:
    """The distribution of the values of one column.

    Attributes
    ----------
    name : str
    rows, blanks : int
        Number of rows with and without a value.
    tenths : tuple of int
        Number of values that round to 0, 0.1, …, 1, as shown by the bars of Figure 5.
    sweep : tuple of ThresholdCount
        The counts for each threshold, in input order.
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
    """Count the values of a column by tenths and by threshold.

    Parameters
    ----------
    name : str
        The name of the column, used in error messages.
    values : ndarray of float64, shape (n,)
        Values in [0, 1]; NaN is a blank.
    thresholds : sequence of float
        The thresholds to sweep over.

    Returns
    -------
    FractionCounts

    Raises
    ------
    ValueError
        If a value is outside [0, 1].

    Notes
    -----
    Hann, Kalil and Payne, Figure 5. A value halfway between two tenths is rounded to the even tenth, as in
    NumPy. The thresholds are compared with the original values, not with the rounded ones.

    Examples
    --------
    >>> counts = count_fractions("toxic", np.array([0, 0, 0.04, 0.1, 0.5, 1, np.nan]), [0.1, 0.5])
    >>> counts.tenths
    (3, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1)
    >>> [(each.threshold, each.rows, each.share) for each in counts.sweep]
    [(0.1, 3, 0.5), (0.5, 2, 0.3333333333333333)]
    """
    known = values[~np.isnan(values)]
    refuse_where((known < 0) | (known > 1), name, "between 0 and 1")
    tenths = np.bincount(np.rint(known * 10).astype(np.int64), minlength=11)
    sweep = []
    for threshold in thresholds:
        rows = int(np.count_nonzero(known >= threshold))
        sweep.append(ThresholdCount(float(threshold), rows, rows / known.size if known.size else None))
    return FractionCounts(name, known.size, values.size - known.size, tuple(tenths.tolist()), tuple(sweep))
