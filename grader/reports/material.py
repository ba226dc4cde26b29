"""Data and options of an analysis report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from fairboard import MetricSettings
from fairboard.bias.analysis import Background, Data
from fairboard.bias.prepared import FloatArray, IndexArray
from grader.files import Solution
from grader.files.solution.columns import SPLITS


@dataclass(frozen=True, eq=False)
class Material:
    """The data and options of an analysis.

    Attributes
    ----------
    models : mapping of str to mapping of str to ndarray of float64, each of shape (rows,)
        The predictions of the candidate and, optionally, of a baseline, in the order of the solution: by the
        name of the model and by label. Without models, the report is an audit of the data.
    fuzzed : Material or None
        The fuzzed solution with the predictions for it.
    split : {"all", "public", "private"}
        The analyzed rows. Rows with Usage ``Ignored`` are only used in pairs.
    minimum_size : int
        Identities that are mentioned by fewer of the analyzed rows, or of the rows of a slice, are omitted.
    lowest : int
        The number of lowest identities that have charts.
    """

    solution: Solution
    models: Mapping[str, Mapping[str, FloatArray]] = field(default_factory=dict)
    fuzzed: "Material | None" = None
    settings: MetricSettings = field(default_factory=MetricSettings)
    split: Literal["all", "public", "private"] = "all"
    background: Background = "all"
    minimum_size: int = 0
    lowest: int = 5

    @cached_property
    def rows(self) -> IndexArray:
        """The analyzed rows."""
        if self.solution.usage is None:
            return np.arange(len(self.solution.row_ids))
        return np.flatnonzero(np.isin(self.solution.usage, SPLITS[self.split]))

    def at_rows(self, columns: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Return the values of the analyzed rows."""
        return {name: values[self.rows] for name, values in columns.items()}

    @cached_property
    def data(self) -> Data:
        """The labels and identities of the analyzed rows."""
        labels = {self.solution.roles.label: self.solution.labels, **self.solution.other_labels}
        identities = self.solution.identities
        return Data.of(labels, identities, settings=self.settings, background=self.background).at(self.rows)

    @cached_property
    def kept(self) -> Data:
        """The same data with only the included identities."""
        return self.data.mentioned_by(self.minimum_size)

    @property
    def candidate(self) -> Mapping[str, FloatArray]:
        """The candidate's predictions for all rows, by label."""
        return next(iter(self.models.values()))

    def facts(self) -> list[str]:
        """Return sentences on the rows and thresholds, and on the included and omitted identities."""
        background = "all other rows" if self.background == "all" else "the rows known not to mention it"
        sizes, kept = self.data.sizes(), self.kept.sizes()
        facts = [
            f"{self.rows.size:,} rows ({self.split}), label {self.data.label}, identities: "
            f"{len(kept):,} of {len(sizes):,}",
            f"Labels and identities count as positive at {self.settings.label_threshold:g} and above",
            f"The background of an identity is {background}",
        ]
        small = [f"{name} ({size:,})" for name, size in sizes.items() if name not in kept]
        if small:
            few = f"fewer than {self.minimum_size:,} rows mention them"
            facts.append(f"Omitted because {few}: {', '.join(small)}")
        return facts
