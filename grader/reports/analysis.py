"""Analysis report on a solution and the predictions of one or two models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fairboard import MetricSettings, report
from fairboard.bias.analysis.annotations import Annotations
from fairboard.bias.analysis.audit import audit
from fairboard.bias.analysis.counterfactual_pairs import compare_pairs
from fairboard.bias.analysis.fuzzed_texts import (
    ORIGINAL_AND_FUZZED,
    FuzzedReport,
    compare_fuzzed,
    compare_twins,
)
from fairboard.bias.analysis.rows import Background, Rows, count
from fairboard.bias.analysis.skew_scenarios import SkewExperiment, skew_experiment
from fairboard.bias.analysis.table import Column, MetricTable, metric_table
from fairboard.bias.prepared import FloatArray, IndexArray
from grader.files import Solution
from grader.files.solution.columns import SPLITS
from grader.reports import drawn, labelled, scored
from grader.reports.blocks import Section

SplitName = Literal["all", "public", "private"]
MOST_SLICES = 12
SKEW_SEED = 1


@dataclass(frozen=True, eq=False)
class Material:
    """The data and options of an analysis.

    Attributes
    ----------
    solution : Solution
    predictions : mapping of str to ndarray of float64, each of shape (rows,)
        The candidate's predictions by label, in the order of the solution. Empty for an audit of the data.
    others : the same
        The predictions of the baseline, which is a second model with which the candidate is compared.
    names : (str, str)
        The names of the candidate and the baseline.
    fuzzed : Inputs or None
        The fuzzed set with its predictions.
    settings : MetricSettings
    split : {"all", "public", "private"}
        The analyzed rows. Rows with Usage ``Ignored`` are only used in pairs.
    background : {"all", "annotated"}
    minimum_size : int
        Identities that are mentioned by fewer of the analyzed rows are omitted from every section. Within a
        slice, the rows of the slice are counted.
    lowest : int
        The number of lowest identities that are shown separately and with charts.
    order : str
        The column by which the table of all identities is sorted.
    categories : mapping of str to str
        Categories of some identities.
    skewed : str or None
        The identity of the optional skew experiment on pinned AUC.
    pair_columns : (str, str or None)
        The role and group columns of counterfactual pairs.
    roles : (str, str) or None
        The two roles; the rate refers to the first. ``("original", "fuzzed")`` denotes twins, which are
        compared by every metric. This is the default if the role column has these values; otherwise the
        default is ``("anti", "pro")``.
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
    order: Column = "mean_auc"
    categories: Mapping[str, str] = field(default_factory=dict)
    skewed: str | None = None
    pair_columns: tuple[str, str | None] = ("role", "group")
    roles: tuple[str, str] | None = None

    @property
    def label(self) -> str:
        """The name of the scored label."""
        return self.solution.roles.label

    @property
    def rows(self) -> IndexArray:
        """The analyzed rows."""
        if self.solution.usage is None:
            return np.arange(len(self.solution.row_ids))
        return np.flatnonzero(np.isin(self.solution.usage, SPLITS[self.split]))

    def pair_roles(self) -> tuple[str, str]:
        """Return the two roles in counterfactual pairs."""
        column = self.solution.slices.get(self.pair_columns[0])
        twins = column is not None and set(ORIGINAL_AND_FUZZED) == set(column.values)
        return self.roles or (ORIGINAL_AND_FUZZED if twins else ("anti", "pro"))

    def annotations(self) -> Annotations:
        """Return the labels and identities of the analyzed rows."""
        is_whole = self.rows.size == len(self.solution.row_ids)
        return self.annotations_at(slice(None) if is_whole else self.rows)

    def annotations_at(self, kept: IndexArray | slice) -> Annotations:
        """Return the labels and identities of the given rows."""
        labels = {self.label: self.solution.labels, **self.solution.other_labels}
        return Annotations.of(
            {name: values[kept] for name, values in labels.items()},
            {name: values[kept] for name, values in self.solution.identities.items()},
            settings=self.settings,
            background=self.background,
        )

    def predicted(self) -> dict[str, FloatArray]:
        """Return the predictions for the analyzed rows by label."""
        return {label: values[self.rows] for label, values in self.predictions.items()}


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report: its title, facts about the data, and sections."""

    title: str
    facts: tuple[str, ...]
    sections: tuple[Section, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data with the sections by key."""
        return {"title": self.title, "facts": list(self.facts)} | {
            section.key: section.data for section in self.sections
        }


def analyse(inputs: Material) -> Analysis:
    """Return a complete analysis of a solution and, if there are predictions, of the models.

    Returns
    -------
    Analysis
        Cells without a value state the reason. Sections without content are omitted.

    Raises
    ------
    ValueError
        If there are no rows to analyze, or if pairs are incomplete.
    """
    rows = inputs.rows
    if not rows.size:
        raise ValueError(f"The solution has no rows in the split {inputs.split!r}.")
    annotations = inputs.annotations()
    kept = annotations.mentioned_by(inputs.minimum_size)
    model = inputs.predictions.get(inputs.label)
    sections = _of_model(inputs, annotations, model) if model is not None else []
    if inputs.predictions:
        sections += _of_labels(inputs, annotations, kept)
    if inputs.fuzzed is not None:
        sections.append(labelled.fuzzed_section(_fuzzed(inputs, inputs.fuzzed)))
    if not inputs.predictions:
        sections += labelled.audit_sections(audit(kept))
    title = f"Analysis of {inputs.names[0]}" if inputs.predictions else "Audit of the data"
    return Analysis(title, _facts_of(inputs, annotations, kept), tuple(sections))


def _facts_of(inputs: Material, annotations: Annotations, kept: Annotations) -> tuple[str, ...]:
    """Return sentences on the rows and thresholds, and on the included and omitted identities."""
    background = "all other rows" if inputs.background == "all" else "the rows known not to mention it"
    facts = [
        f"{inputs.rows.size:,} rows ({inputs.split}), label {inputs.label}, "
        + _counted(len(kept.names), len(annotations.names), inputs.minimum_size),
        f"Labels and identities count as positive at {inputs.settings.label_threshold:g} and above",
        f"The background of an identity is {background}",
        *(each.sentence.removesuffix(".") for each in inputs.solution.near_misses),
    ]
    too_small = [f"{name} ({size:,})" for name, size in annotations.sizes().items() if name not in kept.names]
    if too_small:
        facts.append(f"Omitted because {_few(inputs.minimum_size)} mention them: {', '.join(too_small)}")
    return tuple(facts)


def _counted(kept: int, there: int, minimum_size: int) -> str:
    """Return a sentence on how many identities are included and why others are not."""
    if kept == there:
        return "1 identity" if there == 1 else f"{there:,} identities"
    whom = "each of the others" if kept else "each of them"
    return f"{kept:,} of {there:,} identities are included: {_few(minimum_size)} mention {whom}"


def _few(minimum_size: int) -> str:
    return "no rows" if minimum_size == 1 else f"fewer than {minimum_size:,} rows"


def _of_model(inputs: Material, annotations: Annotations, predictions: FloatArray) -> list[Section]:
    kept = inputs.rows
    rows = annotations.rows(inputs.label, predictions[kept])
    counted = count(rows)
    table = metric_table(
        rows, categories=inputs.categories, minimum_size=inputs.minimum_size, counted=counted
    )
    names = [line.name for line in table.lines]
    kept_rows = rows.only(names)
    sections = []
    if rows.background == "all":
        sections.append(scored.score_section(report(kept_rows.pair_counts, inputs.settings)))
    sections.append(scored.identities_section(table, lowest=inputs.lowest, order=inputs.order))
    if not names:
        return sections
    sections.append(scored.power_section(table, inputs.settings))
    shown = _shown(table, inputs.lowest)
    others = rows.predicted(inputs.others[inputs.label][kept]) if inputs.label in inputs.others else None
    if others is not None:
        sections.append(
            scored.comparison_section((rows, others), minimum_size=inputs.minimum_size, names=inputs.names)
        )
    slices, hidden = _slices(inputs, rows)
    if slices:
        theirs = _slices(inputs, others)[0] if others is not None else {}
        sections.append(
            scored.slices_section(
                slices, theirs, hidden, minimum_size=inputs.minimum_size, names=inputs.names
            )
        )
    return [
        *sections,
        drawn.distributions_section(rows, shown),
        drawn.curves_section(rows, shown),
        scored.pinned_section(kept_rows, counted, _skew(inputs, kept_rows, others)),
    ]


def _skew(inputs: Material, rows: Rows, others: Rows | None) -> SkewExperiment | None:
    if inputs.skewed is None:
        return None
    if inputs.skewed not in rows.names:
        raise ValueError(
            f"There is no identity {inputs.skewed!r} to skew. Choose one of: {', '.join(rows.names)}."
        )
    both = [each.predictions for each in (rows, others) if each is not None]
    models = dict(zip(inputs.names, both, strict=False))
    return skew_experiment(rows, models, inputs.skewed, seed=SKEW_SEED)


def _of_labels(inputs: Material, annotations: Annotations, kept: Annotations) -> list[Section]:
    predicted = inputs.predicted()
    sections = []
    if inputs.solution.other_labels:
        # A single column of predictions is compared with every label, as the section states.
        alone = predicted[inputs.label] if list(predicted) == [inputs.label] else predicted
        sections.append(
            labelled.labels_section(annotations, alone, minimum_size=inputs.minimum_size, k=inputs.lowest)
        )
    if kept.names:
        sections.append(labelled.association_section(kept, predicted))
    role, _ = inputs.pair_columns
    pair, slices = inputs.solution.pair, inputs.solution.slices
    if pair is not None and role in slices and inputs.pair_roles() == ORIGINAL_AND_FUZZED:
        twins = compare_twins(
            inputs.annotations_at(slice(None)),
            inputs.predictions,
            pair.texts(),
            slices[role].texts(),
            minimum_size=inputs.minimum_size,
        )
        return [*sections, labelled.fuzzed_section(twins)]
    return [*sections, *_pairs_of(inputs)]


def _pairs_of(inputs: Material) -> list[Section]:
    """Return the section on counterfactual pairs, if there are any."""
    (role, group), slices, pair = inputs.pair_columns, inputs.solution.slices, inputs.solution.pair
    if pair is None or role not in slices:
        return []
    groups = slices[group].texts() if group in slices else None
    texts = pair.texts(), slices[role].texts(), groups
    pairs = compare_pairs(*texts, inputs.predictions, roles=inputs.pair_roles())
    return [labelled.pairs_section(pairs)]


def _fuzzed(inputs: Material, fuzzed: Material) -> FuzzedReport:
    ours, theirs = list(inputs.solution.row_ids), list(fuzzed.solution.row_ids)
    same_rows = ours == theirs and np.array_equal(inputs.rows, fuzzed.rows)
    return compare_fuzzed(
        inputs.annotations(),
        inputs.predicted(),
        fuzzed.annotations(),
        fuzzed.predicted(),
        are_twins=same_rows,
        minimum_size=inputs.minimum_size,
    )


def _shown(table: MetricTable, lowest: int) -> list[str]:
    """Return the identities that have charts: those with the lowest mean AUC."""
    return [line.name for line in table.lowest(lowest).lines]


def _slices(inputs: Material, rows: Rows) -> tuple[dict[str, Rows], list[str]]:
    """Return the first values of each slice, and the other values with their numbers of rows."""
    slices: dict[str, Rows] = {}
    hidden = []
    for name, texts in inputs.solution.slices.items():
        if name in inputs.pair_columns:
            continue
        codes = texts.codes[inputs.rows]
        sizes = np.bincount(codes[codes >= 0], minlength=len(texts.values))
        for code, value in enumerate(texts.values):
            if sizes[code] and code < MOST_SLICES:
                slices[f"{name} = {value}"] = rows.where(codes == code)
            elif sizes[code]:
                hidden.append(f"{name} = {value} ({sizes[code]:,})")
    return slices, hidden
