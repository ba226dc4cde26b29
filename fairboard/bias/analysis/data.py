"""Row labels and identities, and the pairs behind a model's AUCs."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.counts import Comparison
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
    labels, identities : DataFrame of float64, with n rows
        A column for each label or identity: usually the share of raters who assigned it to the row; NaN is a
        blank. Rows with a blank label are left out of all analyses of that label.
    settings : MetricSettings
        The metric settings that contain the thresholds.
    background : {"all", "annotated"}
        With ``"all"``, a blank identity counts as no mention, as in the score. With ``"annotated"``, rows
        with a blank identity are left out of all analyses of that identity.

    Examples
    --------
    >>> data = Data.of([1, 0, 1], {"cat": [1, 0, None]}, background="annotated")
    >>> data.label, data.sizes(), data.considered["cat"].tolist()
    ('label', {'cat': 1}, [True, True, False])
    """

    labels: pd.DataFrame
    identities: pd.DataFrame
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
        rows, frames = None, list[pd.DataFrame]()
        for kind, argument, columns in (("label", "labels", named), ("identity", "identities", identities)):
            checked = {}
            for name in columns:
                if str(name) in checked:
                    raise ValueError(f"`{argument}` contains {str(name)!r} more than once.")
                values = as_vector(f"{argument}[{name!r}]", columns[name], rows=rows)
                refuse_where(np.isinf(values), f"{argument}[{name!r}]", "finite or blank")
                checked[str(name)], rows = values, values.size
            frames.append(pd.DataFrame(checked, range(rows or 0)).rename_axis(columns=kind))
        of_labels, of_identities = frames
        return cls(of_labels, of_identities, settings or MetricSettings(), background)

    @property
    def label(self) -> str:
        """The first label."""
        return str(self.labels.columns[0])

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @cached_property
    def members(self) -> pd.DataFrame:
        """A mask of the rows that mention each identity."""
        return self.identities >= self.settings.identity_threshold

    @cached_property
    def positive(self) -> pd.DataFrame:
        """A mask of the positive rows of each label."""
        return self.labels >= self.settings.label_threshold

    @cached_property
    def labelled(self) -> pd.DataFrame:
        """A mask of the rows in which each label is not blank."""
        return self.labels.notna()

    @cached_property
    def considered(self) -> pd.DataFrame:
        """A mask of the rows in the subgroup or the background of each identity."""
        return self.identities.notna() | (self.background == "all")

    def sizes(self) -> dict[str, int]:
        """Count the rows that mention each identity."""
        return {str(name): int(rows) for name, rows in self.members.sum().items()}

    def at(self, kept: BoolArray | IndexArray) -> "Data":
        """Return the rows that a mask selects, or the rows with the given numbers in that order."""
        rows = np.arange(self.size)[kept]
        labels, identities = (
            each.iloc[rows].reset_index(drop=True) for each in (self.labels, self.identities)
        )
        return replace(self, labels=labels, identities=identities)

    def only(self, names: Collection[str]) -> "Data":
        """Return the same rows with only the given identities."""
        return replace(self, identities=self.identities[[*names]])

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
    labels = list(map(str, data.labels))
    if not is_table(columns):
        columns = dict.fromkeys(labels, scores_of(data, columns))
    if unknown := [str(name) for name in columns if name not in labels]:
        known = ", ".join(labels)
        raise ValueError(f"`predictions` contains unknown labels: {', '.join(unknown)}. Labels: {known}.")
    return {
        label: as_vector(f"predictions[{label!r}]", columns[label], rows=data.size, finite=True)
        for label in labels
        if label in columns
    }


def scores_of(data: Data, predictions: ArrayLike) -> FloatArray:
    """Return predictions as an array; raise ValueError unless they are one finite number for each row."""
    return as_vector("predictions", predictions, rows=data.size, finite=True)


def count(data: Data, predictions: ArrayLike, label: str | None = None) -> dict[str, dict[str, Comparison]]:
    """Return the comparisons of each identity: the five cells and ``"background_auc"``, in its background."""
    ranks, names = dense_ranks(scores_of(data, predictions)), list(data.sizes())
    labelled, positive = data.labelled[label or data.label], data.positive[label or data.label].to_numpy()
    counted = dict[str, dict[str, Comparison]]()
    # With the background "all", all identities are compared within the same rows.
    for together in [names] if data.background == "all" else [[name] for name in names]:
        rows = labelled & data.considered[together].all(axis=1)
        members = tuple(np.flatnonzero(data.members.loc[rows, name]) for name in together)
        split = PreparedSplit(positive[rows], tuple(together), (True,) * len(together), members)
        counts = count_ranks(split, ranks[rows])
        for identity in counts.identities:
            inside = identity.subgroup_wins + identity.bpsn_wins + identity.bnsp_wins
            sizes = counts.positives - identity.positives, counts.negatives - identity.negatives
            background = Comparison(counts.overall_wins - inside, *sizes)
            counted[identity.name] = {**comparisons(counts, identity), "background_auc": background}
    return counted
