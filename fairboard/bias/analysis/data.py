"""Row labels and identities, and the pairs behind a model's AUCs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from fairboard.bias.counts import Comparison, IdentityCounts, PairCounts
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.pair_counting import count_ranks
from fairboard.bias.prepared import (
    BoolArray,
    FloatArray,
    IndexArray,
    PreparedSplit,
    as_vector,
    is_table,
    refuse_where,
)
from fairboard.bias.subgroups import comparisons
from fairboard.ranks import dense_ranks

Background = Literal["all", "annotated"]
Predictions = Mapping[str, ArrayLike] | ArrayLike
"""The predictions of each label by name, or one array of predictions that is compared with every label."""


@dataclass(frozen=True, eq=False)
class Data:
    """The labels and identities of n rows, created by `Data.of`.

    Attributes
    ----------
    labels, identities : mapping of str to ndarray of float64, each of shape (n,)
        Values of each row, usually the share of raters who assigned the label or identity; NaN is a blank.
        Rows with a blank label are left out of all analyses of that label.
    settings : MetricSettings
        The metric settings that contain the thresholds.
    background : {"all", "annotated"}
        With ``"all"``, a blank identity counts as no mention, as in the score. With ``"annotated"``, rows
        with a blank identity are left out of all analyses of that identity.

    Examples
    --------
    >>> data = Data.of([1, 0, 1], {"cat": [1, 0, None]}, background="annotated")
    >>> data.label, data.sizes(), data.considered("cat").tolist()
    ('label', {'cat': 1}, [True, True, False])
    """

    labels: Mapping[str, FloatArray]
    identities: Mapping[str, FloatArray]
    settings: MetricSettings
    background: Background

    @classmethod
    def of(
        cls,
        labels: Predictions,
        identities: Mapping[str, ArrayLike],
        *,
        settings: MetricSettings | None = None,
        background: Background = "all",
    ) -> "Data":
        """Validate the columns and convert them to arrays; one array of labels is called ``"label"``.

        Raises
        ------
        ValueError
            If there is no label, or a column has the wrong shape, length or content.
        """
        if background not in get_args(Background):
            raise ValueError(f'`background` must be "all" or "annotated", not {background!r}.')
        named: Any = labels if is_table(labels) else {"label": labels}
        if not list(named):
            raise ValueError("`labels` must contain at least one label.")
        rows, checked = None, dict[str, dict[str, FloatArray]](labels={}, identities={})
        for argument, columns in (("labels", named), ("identities", identities)):
            for name in columns:
                values = as_vector(f"{argument}[{name!r}]", columns[name], rows=rows)
                refuse_where(np.isinf(values), f"{argument}[{name!r}]", "finite or blank")
                checked[argument][str(name)], rows = values, values.size
        return cls(checked["labels"], checked["identities"], settings or MetricSettings(), background)

    @property
    def label(self) -> str:
        """The first label."""
        return next(iter(self.labels))

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.labels[self.label].size

    @cached_property
    def members(self) -> Mapping[str, BoolArray]:
        """For each identity, a mask of the rows that mention it."""
        threshold = self.settings.identity_threshold
        return {name: values >= threshold for name, values in self.identities.items()}

    def positive(self, label: str | None = None) -> BoolArray:
        """Return a mask of the positive rows."""
        positive: BoolArray = self.labels[label or self.label] >= self.settings.label_threshold
        return positive

    def labelled(self, label: str | None = None) -> BoolArray:
        """Return a mask of the rows in which a label is not blank."""
        return ~np.isnan(self.labels[label or self.label])

    def considered(self, name: str) -> BoolArray:
        """Return a mask of the rows in the subgroup or the background of an identity."""
        values = self.identities[name]
        return np.ones(self.size, np.bool_) if self.background == "all" else ~np.isnan(values)

    def sizes(self) -> dict[str, int]:
        """Count the rows that mention each identity."""
        return {name: int(np.count_nonzero(mentions)) for name, mentions in self.members.items()}

    def at(self, kept: BoolArray | IndexArray) -> "Data":
        """Return the rows that a mask selects, or the rows with the given numbers in that order."""
        labels = {name: values[kept] for name, values in self.labels.items()}
        identities = {name: values[kept] for name, values in self.identities.items()}
        return replace(self, labels=labels, identities=identities)

    def only(self, names: Collection[str]) -> "Data":
        """Return the same rows with only the given identities."""
        return replace(self, identities={name: self.identities[name] for name in names})

    def mentioned_by(self, minimum_size: int) -> "Data":
        """Return the same rows with only the identities that at least `minimum_size` rows mention."""
        return self.only([name for name, size in self.sizes().items() if size >= minimum_size])


def by_label(data: Data, predictions: Predictions) -> dict[str, FloatArray]:
    """Return the predictions of all predicted labels, in the order of the labels.

    Raises
    ------
    ValueError
        If there are predictions of an unknown label, or they are not one finite number for each row.
    """
    columns: Any = predictions
    if not is_table(columns):
        columns = dict.fromkeys(data.labels, scores_of(data, columns))
    if unknown := [str(name) for name in columns if name not in data.labels]:
        known = ", ".join(data.labels)
        raise ValueError(f"`predictions` contains unknown labels: {', '.join(unknown)}. Labels: {known}.")
    return {
        label: as_vector(f"predictions[{label!r}]", columns[label], rows=data.size, finite=True)
        for label in data.labels
        if label in columns
    }


def scores_of(data: Data, predictions: ArrayLike) -> FloatArray:
    """Return predictions as an array; raise ValueError unless they are one finite number for each row."""
    return as_vector("predictions", predictions, rows=data.size, finite=True)


def count(data: Data, predictions: ArrayLike, label: str | None = None) -> dict[str, dict[str, Comparison]]:
    """Return the comparisons of each identity: the five cells and ``"background_auc"``, in its background."""
    ranks = dense_ranks(scores_of(data, predictions))
    positive, labelled = data.positive(label), data.labelled(label)
    counted = {}
    for name, mentions in data.members.items():
        rows = labelled & data.considered(name)
        split = PreparedSplit(positive[rows], (name,), (True,), (np.flatnonzero(mentions[rows]),))
        counts = count_ranks(split, ranks[rows])
        counted[name] = _comparisons(counts, *counts.identities)
    return counted


def _comparisons(counts: PairCounts, identity: IdentityCounts) -> dict[str, Comparison]:
    inside = identity.subgroup_wins + identity.bpsn_wins + identity.bnsp_wins
    sizes = counts.positives - identity.positives, counts.negatives - identity.negatives
    background = Comparison(counts.overall_wins - inside, *sizes)
    return {**comparisons(counts, identity), "background_auc": background}
