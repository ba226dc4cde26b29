"""Report sections, each created from the data frames of one analysis."""

from collections.abc import Mapping, Sequence

import pandas as pd

from fairboard import BiasReport, bias_report
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
from fairboard.bias.analysis.data import Predictions
from fairboard.bias.analysis.distributions import aeg, equality_curve, score_histograms, score_moments, widest
from fairboard.bias.analysis.pairs import fuzzed_terms, pair_rates, role_scores
from fairboard.bias.analysis.pinned_auc import NOT_ROBUST, pinned_auc
from fairboard.bias.analysis.table import CELLS, label_tables, metric_table, overall_aucs, power_effect
from fairboard.bias.prepared import FloatArray
from fairboard.bias.subgroups import BIAS_AUCS
from grader.reports import charts
from grader.reports.blocks import Section, Table, heading, written

BINS = 25
COMBINED_GROUPS = 6
IDENTITIES_TEXTS = [
    "Each identity is compared with the rows that do not mention it; with an annotated background, without "
    "the rows in which it is blank.",
    "A dash means that one of the compared sets has no rows.",
]
ONE_PREDICTION = (
    "The file has only one column of predictions, which is compared with every label. For a label that it "
    "does not predict, the values show the association between predictions and label, not the quality of the "
    "predictions."
)
DISTRIBUTIONS_TEXT = "The charts show shares of rows so that sets of different sizes can be compared."
CURVE_TEXT = (
    "Each point on a curve corresponds to a threshold. Its coordinates are the shares of the subgroup and of "
    "the background at or above this threshold. On the diagonal, the two shares are equal. The shaded area "
    "between curve and diagonal is the AEG. An AEG above 0 (lower right) means that the subgroup is scored "
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
    "The rows of a pair differ in one respect. A rate of 50% means that anti and pro are scored equally, or "
    "that the effects in different groups cancel out. Compare the groups separately."
)
Models = Mapping[str, FloatArray]


def model_sections(data: Data, models: Models, lowest: int) -> list[Section]:
    """Return the sections on the scored label, of one or two models."""
    tables = {name: metric_table(data, each) for name, each in models.items()}
    predictions, table = next(iter(models.values())), next(iter(tables.values()))
    sections = list[Section]()
    if data.background == "all":
        labels = data.labels[data.label]
        sections.append(_score(bias_report(labels, predictions, data.identities, settings=data.settings)))
    if table.empty:
        return sections
    in_order = table.sort_values("mean_auc", kind="stable")
    shown, differences = in_order, list[Table]()
    if len(tables) > 1:
        (candidate, ours), (baseline, theirs) = tables.items()
        shown = pd.concat(tables, names=["model"]).reset_index("model").loc[in_order.index]
        title = f"{candidate} minus {baseline}"
        differences = [Table("differences", title, _difference(ours, theirs))]
    blocks = [Table("identities", "Identities, lowest mean AUC first", shown), *differences]
    sections.append(Section("identities", "Identities", IDENTITIES_TEXTS, blocks))
    effects = power_effect(_overall(data, predictions), table, data.settings)[["score", *BIAS_AUCS]]
    blocks = [Table("power", "Values by exponent", effects, digits=4)]
    sections.append(Section("power", "Effect of the exponent", (), blocks))
    least = in_order.dropna(subset="mean_auc").index[:lowest].tolist()
    caption = "Expected pinned AUC: the weighted sum of four AUCs"
    pinned = Table("expected", caption, pinned_auc(data, predictions))
    return [
        *sections,
        _distributions(data, predictions, least),
        _curves(data, predictions, least),
        Section("pinned", "Pinned AUC (not robust)", [NOT_ROBUST], [pinned]),
    ]


def _overall(data: Data, predictions: FloatArray) -> float:
    """Return the overall AUC of the scored label."""
    return float(overall_aucs(data, {data.label: predictions})[data.label])


def _score(report: BiasReport) -> Section:
    values = {heading(name): value for name, value in {**report.terms, "score": report.score}.items()}
    frame = pd.DataFrame({"value": values}, list(values), dtype=float).rename_axis("term")
    caption = f"{report.rows:,} rows, {report.positives:,} of them positive"
    missing = [str(each) for each in report.undefined if each.affects_score]
    so = "The power means omit them" if report.score is not None else "There is no score"
    texts = [f"Undefined AUCs: {len(missing):,}. {so}:", *missing] if missing else []
    return Section("score", "Score", texts, [Table("terms", caption, frame, digits=5)])


def _difference(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    return (first - second)[list(CELLS)].add_suffix("_difference")


def slices_section(slices: Mapping[str, tuple[Data, Models]], texts: Sequence[str]) -> Section:
    """Return the metrics of one or two models on slices of the data, like Table 6 in Borkan et al."""
    overall, tables = [], dict[tuple[str, str], pd.DataFrame]()
    for name, (data, models) in slices.items():
        for model, predictions in models.items():
            auc = _overall(data, predictions)
            overall.append({"slice": name, "model": model, "size": data.size, "overall_auc": auc})
            tables[name, model] = metric_table(data, predictions)
    frame = pd.concat(tables, names=["slice", "model"]).reset_index(["model", "identity"])
    blocks = [
        Table("overall", "All rows of each slice", pd.DataFrame(overall).set_index("slice")),
        Table("identities", "Identities by slice", frame),
    ]
    return Section("slices", "Slices of the data", texts, blocks)


def _distributions(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    moments = {name: score_moments(data, predictions, name) for name in names}
    table = pd.concat(moments, names=["identity", "of"]).reset_index("of") if names else pd.DataFrame()
    blocks = [Table("moments", "Predictions by class", table)]
    for name in names:
        bins = score_histograms(data, predictions, name, bins=BINS)
        blocks += [charts.distribution_chart(name, of, bins) for of in ("negative", "positive")]
    return Section("distributions", "Distributions of predictions", [DISTRIBUTIONS_TEXT], blocks)


def _curves(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    lines, blocks = [], list[Table]()
    for name in names:
        for of in ("negative", "positive"):
            curve = equality_curve(data, predictions, name, of)
            if len(curve):
                gap = widest(curve).drop(["subgroup", "background"])
                lines.append({"identity": name, "class": of, "aeg": aeg(curve), **gap})
                blocks.append(charts.curve_chart(name, of, curve))
    frame = pd.DataFrame(lines).set_index("identity") if lines else pd.DataFrame()
    blocks.insert(0, Table("curves", "AEGs and the thresholds with the widest gaps", frame))
    return Section("curves", "Equality curves", [CURVE_TEXT], blocks)


def labels_section(data: Data, predictions: Predictions) -> Section:
    """Return the overall AUC of each label, and the five matrices of identities x labels."""
    tables, overall = label_tables(data, predictions), overall_aucs(data, predictions)
    blocks = [Table("overall_aucs", "Overall AUC", overall.to_frame(), digits=5)]
    for cell in CELLS:
        matrix = tables[cell].unstack("label", sort=False)
        blocks.append(Table(cell, heading(cell), matrix))
    texts = [] if isinstance(predictions, Mapping) or len(overall) == 1 else [ONE_PREDICTION]
    if unpredicted := [label for label in data.labels if label not in overall]:
        texts.append(f"Not predicted: {', '.join(unpredicted)}.")
    return Section("labels", "Labels and identities", texts, blocks)


def association_section(data: Data, predictions: Models) -> Section:
    """Return correlations between identities and predictions, and mean predictions by class."""
    caption = "Correlations between identities (fractions) and predictions"
    correlations = prediction_correlations(data, predictions)
    means = mean_scores(data, predictions).set_index("identity")
    blocks = [Table("correlations", caption, correlations), Table("means", "Mean predictions", means)]
    return Section("association", "Identities and predictions", (), blocks)


def pairs_section(
    pairs: Sequence[str], roles: Sequence[str], groups: Sequence[str] | None, predictions: Models
) -> Section:
    """Return how often the row with the role anti of a pair is scored higher than the one with pro."""
    rates = pair_rates(pairs, roles, groups, predictions)
    scores = role_scores(pairs, roles, groups, predictions)
    caption = "Share of pairs in which anti is scored higher than pro (ties count as one half)"
    blocks = [
        Table("rates", caption, rates.set_index("label")),
        Table("scores", "Predictions", scores.set_index("label")),
    ]
    if len(rates) and rates["group"].nunique() <= COMBINED_GROUPS:
        blocks.append(charts.rate_chart_of(caption, rates))
    return Section("pairs", "Counterfactual pairs", [PAIRS_TEXT], blocks)


def fuzzed_section(one: tuple[Data, Models], other: tuple[Data, Models]) -> Section:
    """Return the terms on the original and on the fuzzed set, and the differences of every metric."""
    (original, ours), (fuzzed, theirs) = one, other
    terms = fuzzed_terms(original, ours, fuzzed, theirs).reset_index("term")
    terms["term"] = terms["term"].map(heading)
    changes = _difference(label_tables(fuzzed, theirs), label_tables(original, ours)).dropna(how="all")
    blocks = [
        Table("terms", "Terms and score", terms, digits=5),
        Table("changes", "Fuzzed minus original", changes.reset_index("label")),
    ]
    return Section("fuzzed", "Fuzzed set", (), blocks)


def audit_sections(data: Data) -> list[Section]:
    """Return the sections of an audit of the data without a model."""
    return [_associations(data), _fractions(data), _together(data)] if data.identities else [_fractions(data)]


def _associations(data: Data) -> Section:
    matrices = {
        "correlations fractions": ("Pearson's r (fractions)", label_correlations(data, "fractions")),
        "correlations binarized": ("Pearson's r (binarized)", label_correlations(data, "binarized")),
        "ppmi comments": ("PPMI (over comments)", ppmi(data, "comments")),
        "ppmi pairs": ("PPMI (over pairs of identity and label)", ppmi(data, "pairs")),
    }
    blocks = [Table(name, title, each) for name, (title, each) in matrices.items()]
    means = mean_labels(data).fillna({"identity": "all rows"}).set_index("identity")
    blocks.append(Table("mean_labels", "Mean labels", means))
    return Section("associations", "Identities and labels in the data", [ASSOCIATION_TEXT], blocks)


def _fractions(data: Data) -> Section:
    counts = fractions(data).rename_axis("column")
    is_graded = counts[list(TENTHS[1:-1])].any(axis=1)
    blocks = [Table("tenths", "Values of each column, rounded to tenths", counts)]
    tenths = counts.loc[is_graded, list(TENTHS)]
    blocks += [charts.fraction_chart(str(name), line) for name, line in tenths.iterrows()]
    return Section("fractions", "Raters' fractions", (), blocks)


def _together(data: Data) -> Section:
    both, per_row = co_mentions(data), identities_per_row(data)
    mentions, rows = int((per_row.index * per_row).sum()), (int(per_row.sum()), int(per_row[1:].sum()))
    mean, where_any = (written("mean", mentions / each if each else None) for each in rows)
    sizes = pd.Series({name: both.loc[name, name] for name in both.index}, dtype=float)
    means = (both.sum(axis=1) / sizes.where(sizes > 0)).to_frame("mean").rename_axis("identity")
    per_row_caption = f"Identities per row: mean {mean}; {where_any} in rows with at least one"
    caption = "Mean number of identities in the rows that mention each identity, including that identity"
    blocks = [
        Table("identities_per_row", per_row_caption, per_row.to_frame()),
        Table("mean_by_identity", caption, means),
        Table("rows", "Rows that mention both", both.rename_axis(columns="identity")),
    ]
    blank = "count as not mentioned" if data.background == "all" else "are excluded"
    text = f"There are {data.size:,} rows. Blank identities {blank}."
    return Section("co_mentions", "Co-mentions", [text], blocks)
