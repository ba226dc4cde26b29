"""Analysis report on a solution and the predictions of one or two models, section by section."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from fairboard import bias_report
from fairboard.bias.analysis import Data
from fairboard.bias.analysis.association import (
    TENTHS,
    co_mentions,
    fractions,
    identities_per_row,
    label_correlations,
    mean_labels,
    mean_scores,
    ppmi,
    prediction_correlations,
)
from fairboard.bias.analysis.distributions import (
    LabelClass,
    aeg,
    equality_curve,
    score_histograms,
    score_moments,
    widest,
)
from fairboard.bias.analysis.pairs import fuzzed_terms, pair_rates, role_scores
from fairboard.bias.analysis.pinned_auc import NOT_ROBUST, pinned_auc
from fairboard.bias.analysis.table import CELLS, label_tables, metric_table, overall_aucs, power_effect
from fairboard.bias.prepared import FloatArray
from fairboard.bias.subgroups import BIAS_AUCS
from grader.files.solution.columns import Categories
from grader.reports import charts
from grader.reports.blocks import Analysis, Section, Table, heading
from grader.reports.material import Material

CLASSES: tuple[LabelClass, ...] = ("negative", "positive")
BINS = 25
COMBINED_GROUPS = 6
MOST_SLICES = 12
PAIR_COLUMNS = ("role", "group")  # the slices of counterfactual pairs
IDENTITIES_TEXT = "A dash means that one of the compared sets has no rows."
CURVE_TEXT = (
    "Each point on a curve corresponds to a threshold. On the diagonal, the two shares are equal. The shaded "
    "area between curve and diagonal is the AEG. If it is above 0 (lower right), the subgroup is scored "
    "higher. An AEG of 0 does not imply equal treatment because a curve may cross the diagonal. The ring "
    "marks the threshold with the largest difference between the two shares."
)
ASSOCIATION_TEXT = (
    "Associations are measured by Pearson's correlation and positive pointwise mutual information (PPMI). "
    "PPMI is the natural logarithm of how much more often an identity and a label occur together than if "
    "they were independent. It is 0 if they occur together less often. PPMI over pairs compares labels, so a "
    "single label always has 0 or no value."
)
PAIRS_TEXT = (
    "The rows of a pair differ in one respect. A rate of 0.5 means that anti and pro are scored equally, or "
    "that the effects in different groups cancel out. Compare the groups separately."
)


def analyse(inputs: Material) -> Analysis:
    """Return a complete analysis of a solution and, if there are predictions, of the models.

    Raises
    ------
    ValueError
        If there are no rows to analyze, or if pairs are incomplete.
    """
    if not inputs.rows.size:
        raise ValueError(f"The solution has no rows in the split {inputs.split!r}.")
    data = inputs.kept
    if not inputs.models:
        of_identities = [] if data.identities.empty else [_associations(data), _together(data)]
        return Analysis("Audit of the data", inputs.facts(), [_fractions(data), *of_identities])
    predictions = inputs.at_rows(inputs.candidate)
    sections = _of_scored_label(inputs) if data.label in predictions else []
    if inputs.solution.other_labels:
        sections.append(_labels(data, predictions))
    if not data.identities.empty:
        sections.append(_association(data, predictions))
    pair, role = inputs.solution.pair, inputs.solution.slices.get("role")
    if pair and role:
        sections.append(_pairs(inputs, pair, role))
    if inputs.fuzzed is not None:
        sections.append(_fuzzed(data, predictions, inputs.fuzzed))
    return Analysis(f"Analysis of {next(iter(inputs.models))}", inputs.facts(), sections)


def _of_scored_label(inputs: Material) -> list[Section]:
    """Return the sections on the scored label, of one or two models."""
    data, label = inputs.kept, inputs.data.label
    models = inputs.at_rows({name: each[label] for name, each in inputs.models.items() if label in each})
    tables = {name: metric_table(data, each) for name, each in models.items()}
    predictions, table = next(iter(models.values())), next(iter(tables.values()))
    sections = list[Section]()
    if data.background == "all":
        sections.append(_score(data, predictions))
    if table.empty:
        return sections
    in_order = table.sort_values("mean_auc", kind="stable")
    shown = pd.concat(tables, names=["model"]).reset_index("model").loc[in_order.index]
    blocks = [Table("identities", "Identities, lowest mean AUC first", shown)]
    if len(tables) > 1:
        (candidate, ours), (baseline, theirs) = tables.items()
        blocks.append(Table("differences", f"{candidate} minus {baseline}", _difference(ours, theirs)))
    sections.append(Section("identities", "Identities", [IDENTITIES_TEXT], blocks))
    effects = power_effect(_overall(data, predictions), table, data.settings)[["score", *BIAS_AUCS]]
    blocks = [Table("power", "Values by exponent", effects, digits=4)]
    sections.append(Section("power", "Effect of the exponent", (), blocks))
    least = in_order.dropna(subset="mean_auc").index[: inputs.lowest].tolist()
    caption = "Expected pinned AUC: the weighted sum of four AUCs"
    pinned = Table("expected", caption, pinned_auc(data, predictions))
    if least:
        sections += [_distributions(data, predictions, least), _curves(data, predictions, least)]
    sections.append(Section("pinned", "Pinned AUC (not robust)", [NOT_ROBUST], [pinned]))
    return [*sections, *_slices(inputs, models)]


def _overall(data: Data, predictions: FloatArray) -> float:
    """Return the overall AUC of the scored label."""
    return float(overall_aucs(data, {data.label: predictions})[data.label])


def _score(data: Data, predictions: FloatArray) -> Section:
    identities = {str(name): values for name, values in data.identities.items()}
    report = bias_report(data.labels[data.label], predictions, identities, settings=data.settings)
    values = {heading(name): value for name, value in {**report.terms, "score": report.score}.items()}
    frame = pd.DataFrame({"value": values}, list(values), dtype=float).rename_axis("term")
    caption = f"{report.rows:,} rows, {report.positives:,} of them positive"
    undefined = [str(each) for each in report.undefined if each.affects_score]
    return Section("score", "Score", undefined, [Table("terms", caption, frame, digits=5)])


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return (first - second)[list(CELLS)].add_suffix("_difference")


def _slices(inputs: Material, models: Mapping[str, FloatArray]) -> Iterator[Section]:
    """Yield the metrics of one or two models on slices of the data, like Table 6 in Borkan et al."""
    overall, tables = [], dict[tuple[str, str], pd.DataFrame]()
    for column, texts in inputs.solution.slices.items():
        codes = texts.codes[inputs.rows]
        for code in np.unique(codes[codes >= 0])[:MOST_SLICES] if column not in PAIR_COLUMNS else ():
            rows, name = codes == code, f"{column} = {texts.values[code]}"
            data = inputs.kept.at(rows).mentioned_by(inputs.minimum_size)
            for model, predictions in models.items():
                auc = _overall(data, predictions[rows])
                overall.append({"slice": name, "model": model, "size": data.size, "overall_auc": auc})
                tables[name, model] = metric_table(data, predictions[rows])
    if tables:
        frame = pd.concat(tables, names=["slice", "model"]).reset_index(["model", "identity"])
        blocks = [
            Table("overall", "All rows of each slice", pd.DataFrame(overall).set_index("slice")),
            Table("identities", "Identities by slice", frame),
        ]
        note = f"At most {MOST_SLICES} values of each column are shown."
        yield Section("slices", "Slices of the data", [note], blocks)


def _distributions(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    moments = {name: score_moments(data, predictions, name) for name in names}
    table = pd.concat(moments, names=["identity", "of"]).reset_index("of")
    blocks = [Table("moments", "Predictions by class", table)]
    for name in names:
        bins = score_histograms(data, predictions, name, bins=BINS)
        blocks += [charts.distribution_chart(name, of, bins) for of in CLASSES]
    return Section("distributions", "Distributions of predictions", (), blocks)


def _curves(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    lines, blocks = [], list[Table]()
    for name, of in product(names, CLASSES):
        curve = equality_curve(data, predictions, name, of)
        gap = widest(curve).drop(["subgroup", "background"])
        lines.append({"identity": name, "class": of, "aeg": aeg(curve), **gap})
        blocks.append(charts.curve_chart(name, of, curve))
    frame = pd.DataFrame(lines).set_index("identity")
    curves = Table("curves", "AEGs and the thresholds with the widest gaps", frame)
    return Section("curves", "Equality curves", [CURVE_TEXT], [curves, *blocks])


def _labels(data: Data, predictions: Mapping[str, FloatArray]) -> Section:
    """Return the overall AUC of each label, and the five matrices of identities x labels."""
    tables, overall = label_tables(data, predictions), overall_aucs(data, predictions)
    blocks = [Table("overall_aucs", "Overall AUC", overall.to_frame(), digits=5)]
    blocks += [Table(cell, heading(cell), tables[cell].unstack("label", sort=False)) for cell in CELLS]
    unpredicted = [str(label) for label in data.labels if label not in overall]
    texts = [f"Not predicted: {', '.join(unpredicted)}."] if unpredicted else []
    return Section("labels", "Labels and identities", texts, blocks)


def _association(data: Data, predictions: Mapping[str, FloatArray]) -> Section:
    """Return correlations between identities and predictions, and mean predictions by class."""
    caption = "Correlations between identities (fractions) and predictions"
    correlations = prediction_correlations(data, predictions)
    means = mean_scores(data, predictions).set_index("identity")
    blocks = [Table("correlations", caption, correlations), Table("means", "Mean predictions", means)]
    return Section("association", "Identities and predictions", (), blocks)


def _pairs(inputs: Material, pair: Categories, role: Categories) -> Section:
    """Return how often the row with the role anti of a pair is scored higher than the one with pro."""
    group = inputs.solution.slices.get("group")
    # Rows with the Usage `Ignored` are used in pairs, too.
    rows = pair.texts(), role.texts(), group.texts() if group else None, inputs.candidate
    rates, scores = pair_rates(*rows), role_scores(*rows)
    caption = "Share of pairs in which anti is scored higher than pro (ties count as one half)"
    blocks = [
        Table("rates", caption, rates.set_index("label")),
        Table("scores", "Predictions", scores.set_index("label")),
    ]
    if rates["pairs"].all() and rates["group"].nunique() <= COMBINED_GROUPS:
        blocks.append(charts.rate_chart_of(caption, rates))
    return Section("pairs", "Counterfactual pairs", [PAIRS_TEXT], blocks)


def _fuzzed(original: Data, predictions: Mapping[str, FloatArray], other: Material) -> Section:
    """Return the terms on the original and on the fuzzed set, and the differences of every metric."""
    fuzzed, fuzzed_predictions = other.kept, other.at_rows(other.candidate)
    terms = fuzzed_terms(original, predictions, fuzzed, fuzzed_predictions).reset_index("term")
    terms["term"] = terms["term"].map(heading)
    tables = label_tables(fuzzed, fuzzed_predictions), label_tables(original, predictions)
    changes = _difference(*tables).dropna(how="all")
    blocks = [
        Table("terms", "Terms and score", terms, digits=5),
        Table("changes", "Fuzzed minus original", changes.reset_index("label")),
    ]
    return Section("fuzzed", "Fuzzed set", (), blocks)


def _associations(data: Data) -> Section:
    fractional, binarized = label_correlations(data, "fractions"), label_correlations(data, "binarized")
    means = mean_labels(data).fillna({"identity": "all rows"}).set_index("identity")
    blocks = [
        Table("correlations fractions", "Pearson's r (fractions)", fractional),
        Table("correlations binarized", "Pearson's r (binarized)", binarized),
        Table("ppmi comments", "PPMI (over comments)", ppmi(data, "comments")),
        Table("ppmi pairs", "PPMI (over pairs of identity and label)", ppmi(data, "pairs")),
        Table("mean_labels", "Mean labels", means),
    ]
    return Section("associations", "Identities and labels in the data", [ASSOCIATION_TEXT], blocks)


def _fractions(data: Data) -> Section:
    counts = fractions(data).rename_axis("column")
    is_graded = counts[list(TENTHS[1:-1])].any(axis=1)
    blocks = [Table("tenths", "Values of each column, rounded to tenths", counts)]
    tenths = counts.loc[is_graded, list(TENTHS)]
    blocks += [charts.fraction_chart(str(name), line) for name, line in tenths.iterrows()]
    return Section("fractions", "Raters' fractions", (), blocks)


def _together(data: Data) -> Section:
    both = co_mentions(data)
    means = (both.sum(axis=1) / np.diag(both)).to_frame("mean").rename_axis("identity")
    caption = "Mean number of identities in the rows that mention each identity, including that identity"
    blocks = [
        Table("identities_per_row", "Identities per row", identities_per_row(data).to_frame()),
        Table("mean_by_identity", caption, means),
        Table("rows", "Rows that mention both", both.rename_axis(columns="identity")),
    ]
    return Section("co_mentions", "Co-mentions", (), blocks)
