"""Analysis report on a solution and the predictions of one or two models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from fairboard import MetricSettings, bias_report
from fairboard.bias.analysis import Background, Data
from fairboard.bias.analysis.data import count
from fairboard.bias.analysis.pairs import ORIGINAL_AND_FUZZED, match_pairs
from fairboard.bias.analysis.skew_scenarios import skew_experiment
from fairboard.bias.analysis.table import metric_table
from fairboard.bias.prepared import FloatArray, IndexArray
from grader.files import Solution
from grader.files.solution.columns import SPLITS
from grader.reports import sections
from grader.reports.blocks import Analysis, Section, Table

SplitName = Literal["all", "public", "private"]
MOST_SLICES = 12
SKEW_SEED, SKEW_TRIALS = 1, 100


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
    split : {"all", "public", "private"}
        The analyzed rows. Rows with Usage ``Ignored`` are only used in pairs.
    minimum_size : int
        Identities that are mentioned by fewer of the analyzed rows, or of the rows of a slice, are omitted.
    lowest : int
        The number of lowest identities that are shown separately and with charts.
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
    order: str = "mean_auc"
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

    def data(self, kept: IndexArray | None = None) -> Data:
        """Return the labels and identities of the analyzed rows, or of the given rows."""
        kept = self.rows if kept is None else kept
        labels = {self.label: self.solution.labels, **self.solution.other_labels}
        return Data(
            {name: values[kept] for name, values in labels.items()},
            {name: values[kept] for name, values in self.solution.identities.items()},
            self.settings,
            self.background,
        )

    def predicted(self) -> dict[str, FloatArray]:
        """Return the predictions for the analyzed rows by label."""
        return {label: values[self.rows] for label, values in self.predictions.items()}


def analyse(inputs: Material) -> Analysis:
    """Return a complete analysis of a solution and, if there are predictions, of the models.

    Raises
    ------
    ValueError
        If there are no rows to analyze, or if pairs are incomplete.
    """
    rows = inputs.rows
    if not rows.size:
        raise ValueError(f"The solution has no rows in the split {inputs.split!r}.")
    data = inputs.data()
    kept = data.mentioned_by(inputs.minimum_size)
    found = _of_model(inputs, data, kept) if inputs.label in inputs.predictions else []
    if inputs.predictions:
        found += _of_labels(inputs, data, kept)
    if inputs.fuzzed is not None:
        found.append(_fuzzed(inputs, inputs.fuzzed))
    if not inputs.predictions:
        found += sections.audit_sections(kept)
    title = f"Analysis of {inputs.names[0]}" if inputs.predictions else "Audit of the data"
    return Analysis(title, _facts_of(inputs, data, kept), tuple(found))


def _facts_of(inputs: Material, data: Data, kept: Data) -> tuple[str, ...]:
    """Return sentences on the rows and thresholds, and on the included and omitted identities."""
    background = "all other rows" if inputs.background == "all" else "the rows known not to mention it"
    facts = [
        f"{inputs.rows.size:,} rows ({inputs.split}), label {inputs.label}, identities: "
        f"{len(kept.identities):,} of {len(data.identities):,}",
        f"Labels and identities count as positive at {inputs.settings.label_threshold:g} and above",
        f"The background of an identity is {background}",
    ]
    small = [f"{name} ({size:,})" for name, size in data.sizes().items() if name not in kept.identities]
    if small:
        facts.append(
            f"Omitted because fewer than {inputs.minimum_size:,} rows mention them: {', '.join(small)}"
        )
    return tuple(facts)


def _of_model(inputs: Material, data: Data, kept: Data) -> list[Section]:
    models = {
        name: each[inputs.label][inputs.rows]
        for name, each in zip(inputs.names, (inputs.predictions, inputs.others), strict=True)
        if inputs.label in each
    }
    tables = {name: metric_table(kept, each) for name, each in models.items()}
    predictions, table = next(iter(models.values())), next(iter(tables.values()))
    overall = count(data.only([]), predictions).overall.auc
    found = list[Section]()
    if data.background == "all":
        labels, identities = kept.labels[inputs.label], kept.identities
        scored = bias_report(labels, predictions, identities, settings=inputs.settings)
        found.append(sections.score_section(scored))
    named = table.assign(category=[inputs.categories.get(name, "") for name in table.index])
    found.append(sections.identities_section(named, data.background, inputs.lowest, inputs.order))
    if table.empty:
        return found
    found.append(sections.power_section(overall, table, inputs.settings))
    if len(tables) > 1:
        found.append(sections.comparison_section(tables))
    slices, hidden = _slices(inputs, data, models)
    if slices:
        found.append(sections.slices_section(slices, hidden, inputs.minimum_size))
    least = table.dropna(subset="mean_auc").sort_values("mean_auc", kind="stable").index[: inputs.lowest]
    return [
        *found,
        sections.distributions_section(data, predictions, list(least)),
        sections.curves_section(data, predictions, list(least)),
        sections.pinned_section(kept, predictions, _skew(inputs, kept, models)),
    ]


def _skew(inputs: Material, data: Data, models: sections.Models) -> list[Table]:
    if inputs.skewed is None:
        return []
    if inputs.skewed not in data.identities:
        known = ", ".join(data.identities)
        raise ValueError(f"There is no identity {inputs.skewed!r} to skew. Choose one of: {known}.")
    skew = skew_experiment(data, models, inputs.skewed, seed=SKEW_SEED, trials=SKEW_TRIALS)
    return sections.skew_tables(inputs.skewed, skew, SKEW_TRIALS)


def _of_labels(inputs: Material, data: Data, kept: Data) -> list[Section]:
    predicted, found = inputs.predicted(), list[Section]()
    if inputs.solution.other_labels:
        # A single column of predictions is compared with every label, as the section states.
        alone = predicted[inputs.label] if list(predicted) == [inputs.label] else predicted
        found.append(sections.labels_section(data, kept, alone))
    if kept.identities:
        found.append(sections.association_section(kept, predicted))
    (role, group), slices, pair = inputs.pair_columns, inputs.solution.slices, inputs.solution.pair
    if pair is None or role not in slices:
        return found
    pairs, roles, of_roles = pair.texts(), slices[role].texts(), inputs.pair_roles()
    if of_roles == ORIGINAL_AND_FUZZED:
        # Rows with the Usage `Ignored` are used in pairs, too.
        twins = [
            (inputs.data(rows), {label: values[rows] for label, values in inputs.predictions.items()})
            for rows in match_pairs(pairs, roles, of_roles)
        ]
        return [*found, sections.fuzzed_section(twins, inputs.minimum_size, are_twins=True)]
    groups = slices[group].texts() if group in slices else None
    return [*found, sections.pairs_section((pairs, roles, groups), inputs.predictions, of_roles)]


def _fuzzed(inputs: Material, fuzzed: Material) -> Section:
    ours, theirs = list(inputs.solution.row_ids), list(fuzzed.solution.row_ids)
    same_rows = ours == theirs and np.array_equal(inputs.rows, fuzzed.rows)
    both = [(each.data(), each.predicted()) for each in (inputs, fuzzed)]
    return sections.fuzzed_section(both, inputs.minimum_size, are_twins=same_rows)


def _slices(
    inputs: Material, data: Data, models: sections.Models
) -> tuple[dict[str, tuple[Data, sections.Models]], list[str]]:
    """Return the rows of the first values of each slice, and the other values with their numbers of rows."""
    slices, hidden = dict[str, tuple[Data, sections.Models]](), list[str]()
    for name, texts in inputs.solution.slices.items():
        if name in inputs.pair_columns:
            continue
        codes = texts.codes[inputs.rows]
        sizes = np.bincount(codes[codes >= 0], minlength=len(texts.values))
        for code, value in enumerate(texts.values):
            kept = codes == code
            if sizes[code] and code < MOST_SLICES:
                slices[f"{name} = {value}"] = (
                    data.at(kept),
                    {model: each[kept] for model, each in models.items()},
                )
            elif sizes[code]:
                hidden.append(f"{name} = {value} ({sizes[code]:,})")
    return slices, hidden
