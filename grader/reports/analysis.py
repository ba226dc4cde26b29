"""Analysis report on a solution and the predictions of one or two models."""

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
from grader.reports import sections
from grader.reports.blocks import Analysis, Section

SplitName = Literal["all", "public", "private"]
MOST_SLICES = 12
PAIR_COLUMNS = ("role", "group")  # the slices of counterfactual pairs


@dataclass(frozen=True, eq=False)
class Material:
    """The data and options of an analysis.

    Attributes
    ----------
    predictions, others : mapping of str to ndarray of float64, each of shape (rows,)
        The predictions of the candidate and of the baseline by label, in the order of the solution. Without
        predictions, the report is an audit of the data.
    names : (str, str)
        The names of the candidate and the baseline.
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
    predictions: Mapping[str, FloatArray] = field(default_factory=dict)
    others: Mapping[str, FloatArray] = field(default_factory=dict)
    names: tuple[str, str] = ("submission", "other")
    fuzzed: "Material | None" = None
    settings: MetricSettings = field(default_factory=MetricSettings)
    split: SplitName = "all"
    background: Background = "all"
    minimum_size: int = 0
    lowest: int = 5

    @property
    def label(self) -> str:
        """The name of the scored label."""
        return self.solution.roles.label

    @cached_property
    def rows(self) -> IndexArray:
        """The analyzed rows."""
        if self.solution.usage is None:
            return np.arange(len(self.solution.row_ids))
        return np.flatnonzero(np.isin(self.solution.usage, SPLITS[self.split]))

    @cached_property
    def data(self) -> Data:
        """The labels and identities of the analyzed rows."""
        labels = self._at_rows({self.label: self.solution.labels, **self.solution.other_labels})
        return Data(labels, self._at_rows(self.solution.identities), self.settings, self.background)

    def predicted(self) -> dict[str, FloatArray]:
        """Return the predictions for the analyzed rows by label."""
        return self._at_rows(self.predictions)

    def models(self) -> dict[str, FloatArray]:
        """Return the predictions of the scored label by model, those of the candidate first."""
        both = zip(self.names, (self.predictions, self.others), strict=True)
        return {name: each[self.label][self.rows] for name, each in both if self.label in each}

    def _at_rows(self, columns: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        return {name: values[self.rows] for name, values in columns.items()}


def analyse(inputs: Material) -> Analysis:
    """Return a complete analysis of a solution and, if there are predictions, of the models.

    Raises
    ------
    ValueError
        If there are no rows to analyze, or if pairs are incomplete.
    """
    if not inputs.rows.size:
        raise ValueError(f"The solution has no rows in the split {inputs.split!r}.")
    kept = inputs.data.mentioned_by(inputs.minimum_size)
    if not inputs.predictions:
        return Analysis("Audit of the data", _facts_of(inputs, kept), sections.audit_sections(kept))
    found = [] if inputs.label not in inputs.predictions else _of_model(inputs, kept)
    found += _of_labels(inputs, kept)
    return Analysis(f"Analysis of {inputs.names[0]}", _facts_of(inputs, kept), found)


def _facts_of(inputs: Material, kept: Data) -> list[str]:
    """Return sentences on the rows and thresholds, and on the included and omitted identities."""
    background = "all other rows" if inputs.background == "all" else "the rows known not to mention it"
    sizes = inputs.data.sizes()
    facts = [
        f"{inputs.rows.size:,} rows ({inputs.split}), label {inputs.label}, identities: "
        f"{len(kept.identities):,} of {len(sizes):,}",
        f"Labels and identities count as positive at {inputs.settings.label_threshold:g} and above",
        f"The background of an identity is {background}",
    ]
    small = [f"{name} ({size:,})" for name, size in sizes.items() if name not in kept.identities]
    if small:
        facts.append(
            f"Omitted because fewer than {inputs.minimum_size:,} rows mention them: {', '.join(small)}"
        )
    return facts


def _of_model(inputs: Material, kept: Data) -> list[Section]:
    models = inputs.models()
    found = sections.model_sections(inputs.data, kept, models, inputs.lowest)
    slices, is_complete = dict[str, tuple[Data, sections.Models]](), True
    for name, texts in inputs.solution.slices.items():
        codes = texts.codes[inputs.rows]
        values = [code for code in range(len(texts.values)) if name not in PAIR_COLUMNS and code in codes]
        is_complete &= len(values) <= MOST_SLICES
        for code in values[:MOST_SLICES]:
            here = codes == code
            parts = {model: each[here] for model, each in models.items()}
            slices[f"{name} = {texts.values[code]}"] = inputs.data.at(here), parts
    if slices and kept.identities:
        note = [] if is_complete else [f"Only {MOST_SLICES} values of each column are shown."]
        found.append(sections.slices_section(slices, inputs.minimum_size, note))
    return found


def _of_labels(inputs: Material, kept: Data) -> list[Section]:
    predicted, found = inputs.predicted(), list[Section]()
    slices, pair = inputs.solution.slices, inputs.solution.pair
    if inputs.solution.other_labels:
        # A single column of predictions is compared with every label, as the section states.
        alone = predicted[inputs.label] if list(predicted) == [inputs.label] else predicted
        found.append(sections.labels_section(inputs.data, kept, alone))
    if kept.identities:
        found.append(sections.association_section(kept, predicted))
    if pair is not None and "role" in slices:
        roles, groups = (slices[name].texts() if name in slices else None for name in PAIR_COLUMNS)
        # Rows with the Usage `Ignored` are used in pairs, too.
        found.append(sections.pairs_section(pair.texts(), roles or [], groups, inputs.predictions))
    if inputs.fuzzed is not None:
        others = inputs.fuzzed.data.mentioned_by(inputs.minimum_size), inputs.fuzzed.predicted()
        found.append(sections.fuzzed_section((kept, predicted), others))
    return found
