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
        The different names of the candidate and the baseline.
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
        identities = self.at_rows(self.solution.identities)
        return Data(self.at_rows(labels), identities, self.settings, self.background)

    @cached_property
    def kept(self) -> Data:
        """The same data with only the included identities."""
        return self.data.mentioned_by(self.minimum_size)


def analyse(inputs: Material) -> Analysis:
    """Return a complete analysis of a solution and, if there are predictions, of the models.

    Raises
    ------
    ValueError
        If there are no rows to analyze, or if pairs are incomplete.
    """
    if not inputs.rows.size:
        raise ValueError(f"The solution has no rows in the split {inputs.split!r}.")
    if not inputs.predictions:
        return Analysis("Audit of the data", _facts_of(inputs), sections.audit_sections(inputs.kept))
    analyzed = [*_of_model(inputs), *_of_labels(inputs)]
    return Analysis(f"Analysis of {inputs.names[0]}", _facts_of(inputs), analyzed)


def _facts_of(inputs: Material) -> list[str]:
    """Return sentences on the rows and thresholds, and on the included and omitted identities."""
    background = "all other rows" if inputs.background == "all" else "the rows known not to mention it"
    sizes, kept = inputs.data.sizes(), inputs.kept.identities
    facts = [
        f"{inputs.rows.size:,} rows ({inputs.split}), label {inputs.data.label}, identities: "
        f"{len(kept):,} of {len(sizes):,}",
        f"Labels and identities count as positive at {inputs.settings.label_threshold:g} and above",
        f"The background of an identity is {background}",
    ]
    small = [f"{name} ({size:,})" for name, size in sizes.items() if name not in kept]
    if small:
        facts.append(
            f"Omitted because fewer than {inputs.minimum_size:,} rows mention them: {', '.join(small)}"
        )
    return facts


def _of_model(inputs: Material) -> list[Section]:
    """Return the sections on the scored label, if the candidate predicts it."""
    kept, label = inputs.kept, inputs.data.label
    if label not in inputs.predictions:
        return []
    both = zip(inputs.names, (inputs.predictions, inputs.others), strict=True)
    models = inputs.at_rows({name: each[label] for name, each in both if label in each})
    model_sections = sections.model_sections(kept, models, inputs.lowest)
    slices = dict[str, tuple[Data, sections.Models]]()
    for name, texts in inputs.solution.slices.items():
        codes = texts.codes[inputs.rows]
        values = [code for code in range(len(texts.values)) if name not in PAIR_COLUMNS and code in codes]
        for code in values[:MOST_SLICES]:
            here = codes == code
            data = kept.at(here).mentioned_by(inputs.minimum_size)
            parts = {model: each[here] for model, each in models.items()}
            slices[f"{name} = {texts.values[code]}"] = data, parts
    if slices and kept.identities:
        note = f"At most {MOST_SLICES} values of each column are shown."
        model_sections.append(sections.slices_section(slices, [note]))
    return model_sections


def _of_labels(inputs: Material) -> list[Section]:
    kept, predicted, label_sections = inputs.kept, inputs.at_rows(inputs.predictions), list[Section]()
    slices, pair = inputs.solution.slices, inputs.solution.pair
    if inputs.solution.other_labels:
        # A single column of predictions is compared with every label, as the section states.
        alone = predicted[kept.label] if list(predicted) == [kept.label] else predicted
        label_sections.append(sections.labels_section(kept, alone))
    if kept.identities:
        label_sections.append(sections.association_section(kept, predicted))
    if pair is not None and "role" in slices:
        roles, groups = (slices[name].texts() if name in slices else None for name in PAIR_COLUMNS)
        # Rows with the Usage `Ignored` are used in pairs, too.
        label_sections.append(sections.pairs_section(pair.texts(), roles or [], groups, inputs.predictions))
    if inputs.fuzzed is not None:
        others = inputs.fuzzed.kept, inputs.fuzzed.at_rows(inputs.fuzzed.predictions)
        label_sections.append(sections.fuzzed_section((kept, predicted), others))
    return label_sections
