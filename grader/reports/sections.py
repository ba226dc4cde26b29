"""Report sections, each created from the data frames of one analysis."""

from collections.abc import Mapping, Sequence

import pandas as pd

from fairboard import BiasReport, MetricSettings
from fairboard.bias.analysis import Background, Data
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
    sweep,
)
from fairboard.bias.analysis.curve import aeg, equality_curve, widest
from fairboard.bias.analysis.data import Predictions
from fairboard.bias.analysis.distributions import score_histograms, score_moments
from fairboard.bias.analysis.pairs import fuzzed_terms, pair_rates, role_scores, score_shifts
from fairboard.bias.analysis.pinned_auc import NOT_ROBUST, pinned_auc
from fairboard.bias.analysis.power_means import power_effect
from fairboard.bias.analysis.table import CELLS, label_tables, metric_table, overall_aucs, undefined
from fairboard.bias.prepared import FloatArray
from fairboard.bias.subgroups import BIAS_AUCS
from grader.reports import charts
from grader.reports.blocks import Section, Table, heading, written

BINS = 25
COMBINED_GROUPS = 6
COMPARISON_TEXT = (
    "Each difference is the candidate's value minus the baseline's value. It is positive if the candidate's "
    "value is higher."
)
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
Models = Mapping[str, FloatArray]


def score_section(report: BiasReport) -> Section:
    """Return the score and its terms."""
    values = {heading(name): value for name, value in {**report.terms, "score": report.score}.items()}
    frame = pd.DataFrame({"value": values}, list(values), dtype=float).rename_axis("term")
    caption = f"{report.rows:,} rows, {report.positives:,} of them positive"
    missing = [str(each) for each in report.undefined if each.affects_score]
    so = "The power means omit them" if report.score is not None else "There is no score"
    texts = [f"Undefined AUCs: {len(missing):,}. {so}:", *missing] if missing else []
    return Section("score", "Score", texts, [Table("terms", caption, frame, digits=5)])


def _reasons(tables: pd.DataFrame) -> list[str]:
    """Return a sentence for each reason why values are undefined, of one or several labels."""
    names = dict[str, dict[str, None]]()
    labels = tables.index.get_level_values("label").unique() if tables.index.nlevels > 1 else [None]
    for label in labels:
        for name, _, why in undefined(tables if label is None else tables.loc[label]).itertuples(index=False):
            names.setdefault(why, {})[name if len(labels) == 1 else f"{name} x {label}"] = None
    return [f"- {why.removesuffix('.')}: {', '.join(found)}." for why, found in names.items()]


def _side_by_side(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the metrics of one or two models, like Tables 3 and 6."""
    first = next(iter(tables.values()))
    if len(tables) == 1:
        return first
    return pd.concat(
        {"": first[["size"]], **{name: each[list(CELLS)] for name, each in tables.items()}}, axis=1
    )


def identities_section(table: pd.DataFrame, background: Background, lowest: int, order: str) -> Section:
    """Return the five metrics of all identities and of the lowest identities."""
    if table.empty:
        return Section("identities", "Identities", ["There are no identities to compare."], ())
    text = (
        "Each identity is compared with all rows that do not mention it."
        if background == "all"
        else "Each identity is compared with the rows known not to mention it. Rows in which it is blank are "
        "excluded. The score is not shown because it requires all rows as background."
    )
    what = "lowest mean AUC first" if order == "mean_auc" else f"by {heading(order)}"
    in_order = table.rename_axis("name").sort_values(order, kind="stable").rename_axis("identity")
    tables = [Table("identities", f"All identities, {what}", in_order, _reasons(in_order))]
    if lowest and lowest < len(table):
        least = table.dropna(subset="mean_auc").sort_values("mean_auc", kind="stable")[:lowest]
        tables.insert(0, Table("lowest", f"Lowest {lowest} by mean AUC", least))
    return Section("identities", "Identities", [text], tables)


def power_section(overall: float | None, table: pd.DataFrame, settings: MetricSettings) -> Section:
    """Return the effect of the exponent on the score and the power means."""
    effects = power_effect(overall, table, settings)[["score", *BIAS_AUCS]]
    title = "Effect of the exponent"
    return Section("power", title, (), [charts.power_chart(title, effects)])


def comparison_section(tables: Mapping[str, pd.DataFrame]) -> Section:
    """Return the comparison of the candidate, which is the model of the report, with the baseline."""
    (candidate, ours), (baseline, theirs) = tables.items()
    blocks = [
        Table("both", f"{candidate} and {baseline} side by side", _side_by_side(tables), _reasons(ours)),
        Table("differences", f"{candidate} minus {baseline}", (ours - theirs)[list(CELLS)]),
    ]
    return Section("comparison", f"{candidate} compared with {baseline}", [COMPARISON_TEXT], blocks)


def slices_section(
    slices: Mapping[str, tuple[Data, Models]], hidden: Sequence[str], minimum_size: int
) -> Section:
    """Return a table for each slice of the data, like Table 6 in Borkan et al., of one or two models."""
    blocks = list[Table]()
    for name, (data, models) in slices.items():
        kept = data.mentioned_by(minimum_size)
        tables = {model: metric_table(kept, each) for model, each in models.items()}
        overall = [overall_aucs(data, {data.label: each}).iloc[0] for each in models.values()]
        aucs = " / ".join(written("overall_auc", each) for each in overall)
        caption = f"{name}: {data.size:,} rows, overall AUC {aucs}"
        notes = _reasons(next(iter(tables.values())))
        blocks.append(Table(name, caption, _side_by_side(tables), notes))
    few = f"Identities that fewer than {minimum_size:,} rows of a slice mention are omitted."
    texts = [few] if minimum_size > 1 else []
    texts += [f"Only the number of rows is shown for: {', '.join(hidden)}."] if hidden else []
    return Section("slices", "Slices of the data", texts, blocks)


def distributions_section(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    """Return the distributions of the predictions for each subgroup and background, by class."""
    moments = {name: score_moments(data, predictions, name) for name in names}
    table = pd.concat(moments, names=["identity", "of"]).reset_index("of") if names else pd.DataFrame()
    blocks = [Table("moments", "Predictions by class", table)]
    for name in names:
        bins = score_histograms(data, predictions, name, bins=BINS)
        blocks += [charts.distribution_chart(name, of, bins) for of in ("negative", "positive")]
    return Section("distributions", "Distributions of predictions", [DISTRIBUTIONS_TEXT], blocks)


def curves_section(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    """Return the equality curves with their widest gaps marked; the area to the diagonal is the AEG."""
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


def pinned_section(data: Data, predictions: FloatArray, skew: Sequence[Table]) -> Section:
    """Return the pinned AUCs with their decomposition and, if given, the skew experiment."""
    caption = "Expected pinned AUC: the weighted sum of four AUCs"
    tables = [*skew, Table("expected", caption, pinned_auc(data, predictions))]
    return Section("pinned", "Pinned AUC (not robust)", [NOT_ROBUST], tables)


def skew_tables(identity: str, skew: pd.DataFrame, trials: int) -> list[Table]:
    """Return the pinned AUCs of all identities on original and skewed rows, and all metrics of one."""
    pinned = skew.xs("pinned_auc", axis=1, level="metric")
    models = list(pinned.columns.get_level_values("model").unique())
    gap = (pinned[models[-1], "original"] - pinned[models[0], "original"]).abs()
    pinned = pinned.loc[gap.sort_values(ascending=False, kind="stable").index].rename_axis(columns=[None] * 2)
    caption = f"Pinned AUC with fewer negative rows of {identity}"
    note = f"Half of its negative rows are removed at random; means and deviations of {trials} trials."
    of_one = pd.DataFrame(skew.loc[identity].unstack("rows"))[["original", "skewed"]]
    return [Table("skew", caption, pinned, [note]), Table("skewed", f"All metrics of {identity}", of_one)]


def labels_section(data: Data, kept: Data, predictions: Predictions) -> Section:
    """Return the five matrices of identities x labels, each with the overall AUCs and its extremes."""
    tables, overall = label_tables(kept, predictions), overall_aucs(data, predictions)
    blocks = [Table("overall_aucs", "Overall AUC", overall.to_frame(), digits=5)]
    for cell in CELLS:
        labels, names = (tables.index.get_level_values(level).unique() for level in ("label", "identity"))
        matrix = tables[cell].unstack("label").reindex(index=names, columns=labels).rename_axis(columns=None)
        frame = pd.concat([pd.DataFrame([overall], ["overall AUC"]), matrix]).rename_axis("identity")
        blocks.append(Table(cell, heading(cell), frame))
    texts = [] if isinstance(predictions, Mapping) or len(overall) == 1 else [ONE_PREDICTION]
    if unpredicted := [label for label in data.labels if label not in overall]:
        texts.append(f"Not predicted: {', '.join(unpredicted)}.")
    return Section("labels", "Labels and identities", [*texts, *_reasons(tables)], blocks)


def association_section(data: Data, predictions: Models) -> Section:
    """Return correlations between identities and predictions, and mean predictions by class."""
    caption = "Correlations between identities (fractions) and predictions"
    correlations = prediction_correlations(data, predictions).rename_axis(columns=None)
    means = mean_scores(data, predictions).set_index("identity")
    blocks = [Table("correlations", caption, correlations), Table("means", "Mean predictions", means)]
    return Section("association", "Identities and predictions", (), blocks)


def pairs_section(
    rows: tuple[Sequence[str], Sequence[str], Sequence[str] | None],
    predictions: Models,
    roles: tuple[str, str],
) -> Section:
    """Return how often the first role of a pair is scored higher; `rows` have pairs, roles and groups."""
    rates = pair_rates(*rows, predictions, roles=roles)
    scores = role_scores(*rows, predictions, roles=roles)
    caption = f"Share of pairs in which {roles[0]} is scored higher than {roles[1]} (ties count as one half)"
    blocks = [
        Table("rates", caption, rates.set_index("label")),
        Table("scores", "Predictions", scores.set_index("label")),
    ]
    if len(rates) and rates["group"].nunique() <= COMBINED_GROUPS:
        blocks.append(charts.rate_chart_of(caption, rates))
    text = (
        f"The rows of a pair differ in one respect. A rate of 50% means that {roles[0]} and {roles[1]} are "
        "scored equally, or that the effects in different groups cancel out. Compare the groups separately."
    )
    return Section("pairs", "Counterfactual pairs", [text], blocks)


def fuzzed_section(sets: Sequence[tuple[Data, Models]], minimum_size: int, *, are_twins: bool) -> Section:
    """Return every metric on the original and on the fuzzed set, with the differences."""
    kept = [data.mentioned_by(minimum_size) for data, _ in sets]
    ours, theirs = (scores for _, scores in sets)
    terms = fuzzed_terms(kept[0], ours, kept[1], theirs).reset_index("term")
    terms["term"] = terms["term"].map(heading)
    blocks = [Table("terms", "Terms and score", terms, digits=5)]
    original, fuzzed = (label_tables(data, scores) for data, (_, scores) in zip(kept, sets, strict=True))
    both = original.index[original.index.isin(fuzzed.index)]
    original, fuzzed = original.loc[both], fuzzed.loc[both]
    for cell in CELLS:
        parts = {"original": original[cell], "fuzzed": fuzzed[cell]}
        long = pd.DataFrame({**parts, "difference": fuzzed[cell] - original[cell]}).reset_index("label")
        blocks.append(Table(cell, heading(cell), long))
    if are_twins and len(shifts := score_shifts(ours, theirs)):
        blocks.append(Table("shifts", "Changes of the predictions", shifts.set_index("label")))
    return Section("fuzzed", "Fuzzed set", _reasons(fuzzed), blocks)


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
    blocks = [Table(name, title, each.rename_axis(columns=None)) for name, (title, each) in matrices.items()]
    means = mean_labels(data).fillna({"identity": "all rows"}).set_index("identity")
    blocks.append(Table("mean_labels", "Mean labels", means))
    return Section("associations", "Identities and labels in the data", [ASSOCIATION_TEXT], blocks)


def _fractions(data: Data) -> Section:
    counts, reached = fractions(data).rename_axis("column"), sweep(data)
    is_graded = counts[list(TENTHS[1:-1])].any(axis=1) | (reached.nunique(axis=1) > 1)
    reached = reached.rename(columns=lambda threshold: f">= {threshold:g}")
    frame = pd.concat([counts[["rows", "blanks"]], reached], axis=1)
    caption = "Rows in which a column reaches each threshold"
    blocks = [Table("thresholds", caption, frame)]
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
        Table("rows", "Rows that mention both", both),
    ]
    blank = "count as not mentioned" if data.background == "all" else "are excluded"
    text = f"There are {data.size:,} rows. Blank identities {blank}."
    return Section("co_mentions", "Co-mentions", [text], blocks)
