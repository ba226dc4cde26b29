"""The sections of a report, each from the data frames of one analysis."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pandas as pd

from fairboard import BiasReport, MetricSettings
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
    sweep,
)
from fairboard.bias.analysis.curve import aeg, equality_curve, widest
from fairboard.bias.analysis.data import Predictions
from fairboard.bias.analysis.distributions import score_histograms, score_moments
from fairboard.bias.analysis.pairs import fuzzed_terms, pair_rates, role_scores, score_shifts
from fairboard.bias.analysis.pinned_auc import NOT_ROBUST, PARTS, WEIGHTS, pinned_auc
from fairboard.bias.analysis.power_means import power_effect
from fairboard.bias.analysis.table import AEGS, CELLS, label_tables, metric_table, overall_aucs, undefined
from fairboard.bias.prepared import FloatArray
from fairboard.bias.subgroups import BIAS_AUCS
from grader.charts.frame import Series, line_chart
from grader.charts.svg import Axis
from grader.reports import charts
from grader.reports.blocks import (
    Chart,
    ColumnFormat,
    Section,
    Table,
    change,
    count,
    decimals,
    scaled,
    share,
    signed,
    why_empty,
)

BINS = 25
WORDS: dict[str, str] = {
    "score": "Score",
    "overall_auc": "Overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
    "negative_aeg": "Negative AEG",
    "positive_aeg": "Positive AEG",
}
SHORT: dict[str, str] = dict(zip(CELLS, ("Subgroup", "BPSN", "BNSP", "AEG-", "AEG+"), strict=True))
SMALL_GAPS = (0.05, 0.15, 0.25)
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
    "they were independent. It is 0 if they occur together less often."
)
ONE_LABEL_TEXT = "PPMI over pairs compares labels, so a single label always has 0 or no value."
Models = Mapping[str, FloatArray]


def score_section(report: BiasReport) -> Section:
    """Return the score and its terms."""
    values = {WORDS[name]: value for name, value in {**report.terms, "score": report.score}.items()}
    frame = pd.DataFrame({"value": values}, list(values), dtype=float).rename_axis("term")
    caption, texts = f"{report.rows:,} rows, {report.positives:,} of them positive", list[str]()
    if missing := [each for each in report.undefined if each.affects_score]:
        so = "The power means omit them" if report.score is not None else "There is no score"
        names = [each.subgroup or WORDS[each.term.removeprefix("mean_")] for each in missing]
        texts = [f"Undefined AUCs: {len(missing):,}. {so}:"]
        texts += why_empty(zip(names, (each.reason for each in missing), strict=True))
    table = Table("terms", caption, frame, {"value": ColumnFormat("value", decimals(5))})
    return Section("score", "Score", texts, [table])


def omitted(data: Data, kept: Data) -> list[str]:
    """Return a sentence on the identities that are too small, with their numbers of rows."""
    sizes = data.sizes().items()
    names = ", ".join(f"{name} ({size:,})" for name, size in sizes if name not in kept.identities)
    return [f"Omitted because too few rows mention them: {names}."] if names else []


def _metrics_table(name: str, caption: str, table: pd.DataFrame, notes: Iterable[str] = ()) -> Table:
    """Return a table of the five metrics, colored like Tables 3 and 6 of the paper."""
    columns = {"size": ColumnFormat("count", count), "share_positive": ColumnFormat("positive", share)}
    if "category" in table and table["category"].any():
        columns = {"category": ColumnFormat("category", str), **columns}
    columns |= {cell: ColumnFormat(WORDS[cell], decimals(2), cell) for cell in CELLS}
    return Table(name, caption, table, columns, [*_reasons(table), *notes])


def _side_by_side(
    name: str, caption: str, tables: Mapping[str, pd.DataFrame], notes: Iterable[str] = ()
) -> Table:
    """Return a table of two models' metrics side by side, like Tables 3 and 6."""
    first = next(iter(tables.values()))
    cells = {model: each[list(CELLS)] for model, each in tables.items()}
    frame = pd.concat({"": first[["size"]], **cells}, axis=1)
    columns = {("", "size"): ColumnFormat(("", "count"), count)}
    columns |= {
        (model, cell): ColumnFormat((model, SHORT[cell]), decimals(2), cell)
        for model in tables
        for cell in CELLS
    }
    return Table(name, caption, frame, columns, [*_reasons(first), *notes])


def _reasons(table: pd.DataFrame) -> list[str]:
    return why_empty(undefined(table)[["identity", "reason"]].itertuples(index=False, name=None))


def identities_section(data: Data, kept: Data, table: pd.DataFrame, lowest: int, order: str) -> Section:
    """Return the five metrics of all identities and of the lowest identities."""
    texts = [
        "Each identity is compared with all rows that do not mention it."
        if data.background == "all"
        else "Each identity is compared with the rows known not to mention it. Rows in which it is blank are "
        "excluded. The score is not shown because it requires all rows as background."
    ]
    texts += omitted(data, kept)
    what = "lowest mean AUC first" if order == "mean_auc" else f"by {WORDS.get(order, order)}"
    in_order = table.rename_axis("name").sort_values(order, kind="stable").rename_axis("identity")
    blocks = [_metrics_table("identities", f"All identities, {what}", in_order)]
    if table.empty:
        texts, blocks = [*texts[1:], "There are no identities to compare."], []
    elif lowest and lowest < len(table):
        least = table.dropna(subset="mean_auc").sort_values("mean_auc", kind="stable")[:lowest]
        blocks.insert(0, _metrics_table("lowest", f"Lowest {lowest} by mean AUC", least))
    return Section("identities", "Identities", texts, blocks)


def power_section(overall: float | None, table: pd.DataFrame, settings: MetricSettings) -> Section:
    """Return the effect of the exponent on the score and the power means."""
    effects = power_effect(overall, table, settings)
    names = ("score", *BIAS_AUCS)
    texts = effects.set_axis(pd.Index([f"{power:g}" for power in effects.index], name="p"))
    columns = {name: ColumnFormat(WORDS[name], decimals(4)) for name in names}
    numbers = Table("power", "Effect of the exponent", texts, columns)
    lines = {name: effects[name].dropna() for name in names}
    series = [
        Series(WORDS[name], list(zip(line.index.tolist(), line.tolist(), strict=True)), place)
        for place, (name, line) in enumerate(lines.items())
        if len(line)
    ]
    blocks: list[Table | Chart] = [numbers]
    if series:
        y = Axis.around("value", (value for one in series for _, value in one.points))
        blocks = [Chart(line_chart("Score by exponent p", series, Axis("exponent p", -10, 1), y), numbers)]
    return Section("power", "Effect of the exponent", (), blocks)


def comparison_section(tables: Mapping[str, pd.DataFrame]) -> Section:
    """Return the comparison of the candidate, which is the model of the report, with the baseline."""
    (candidate, ours), (baseline, theirs) = tables.items()
    columns = {cell: ColumnFormat(WORDS[cell], signed(3)) for cell in CELLS}
    difference = (ours - theirs)[list(CELLS)]
    blocks = [
        _side_by_side("both", f"{candidate} and {baseline} side by side", tables),
        Table("differences", f"{candidate} minus {baseline}", difference, columns),
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
        overall = [decimals(3)(overall_aucs(data, {data.label: each}).iloc[0]) for each in models.values()]
        caption = f"{name}: {data.size:,} rows, overall AUC {' / '.join(overall)}"
        notes = omitted(data, kept)
        blocks.append(
            _side_by_side(name, caption, tables, notes)
            if len(models) > 1
            else _metrics_table(name, caption, next(iter(tables.values())), notes)
        )
    texts = [f"Values of which only the number of rows is shown: {', '.join(hidden)}."] if hidden else []
    return Section("slices", "Slices of the data", texts, blocks)


def distributions_section(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    """Return the distributions of the predictions for each subgroup and background, by class."""
    lines, blocks = [], list[Chart]()
    for name in names:
        bins = score_histograms(data, predictions, name, bins=BINS)
        moments = score_moments(data, predictions, name)
        for of in ("negative", "positive"):
            lines.append([name, of, *moments.loc[f"subgroup_{of}"], *moments.loc[f"background_{of}"]])
            blocks.append(charts.distribution_chart(name, of, bins, moments))
    values = [(group, each) for group in ("subgroup", "background") for each in ("rows", "mean", "deviation")]
    frame = pd.DataFrame(lines, columns=["identity", "class", *map("_".join, values)]).set_index("identity")
    columns = {"class": ColumnFormat(("", "class"), str)}
    columns |= {"_".join(each): ColumnFormat(each, count if each[1] == "rows" else scaled) for each in values}
    table = Table("moments", "Predictions by class", frame, columns)
    return Section("distributions", "Distributions of predictions", [DISTRIBUTIONS_TEXT], [table, *blocks])


def curves_section(data: Data, predictions: FloatArray, names: Sequence[str]) -> Section:
    """Return the equality curves with their widest gaps marked; the area to the diagonal is the AEG."""
    lines, blocks = [], list[Chart]()
    for name in names:
        for of in ("negative", "positive"):
            curve = equality_curve(data, predictions, name, of)
            if len(curve):
                lines.append({"identity": name, "class": of, "aeg": aeg(curve), **widest(curve)})
                blocks.append(charts.curve_chart(name, of, curve))
    columns = {"class": ColumnFormat("class", str), "aeg": ColumnFormat("AEG", signed(3))}
    columns |= {"threshold": ColumnFormat("widest at", lambda value: f"{value:.4g}"), **charts.MARKS}
    frame = pd.DataFrame(lines, columns=["identity", *columns]).set_index("identity")
    table = Table("curves", "AEGs and the thresholds with the widest gaps", frame, columns)
    return Section("curves", "Equality curves", [CURVE_TEXT], [table, *blocks])


def pinned_section(data: Data, predictions: FloatArray, skew: Table | None) -> Section:
    """Return the pinned AUCs with their decomposition and, if given, the skew experiment."""
    pinned = pinned_auc(data, predictions)
    headings = ("background", "subgroup", "BPSN", "BNSP")
    columns = {"value": ColumnFormat("pinned AUC", decimals(3))}
    for part, weight, heading in zip(PARTS, WEIGHTS, headings, strict=True):
        products = zip(pinned[part], pinned[weight], strict=True)
        pinned[heading] = [
            None if pd.isna(times) else f"{decimals(3)(auc)} x {times:.3f}" for auc, times in products
        ]
        columns[heading] = ColumnFormat(heading, str)
    table = Table("expected", "Expected pinned AUC: the weighted sum of four AUCs", pinned, columns)
    blocks = [table] if skew is None else [skew, table]
    return Section("pinned", "Pinned AUC (not robust)", [NOT_ROBUST], blocks)


def skew_table(data: Data, identity: str, skew: pd.DataFrame, trials: int) -> Table:
    """Return a table of all identities on the original and on the skewed rows."""
    models = list(skew.columns.get_level_values("model").unique())
    pinned = skew.xs("pinned_auc", axis=1, level="metric")
    gap = (pinned[models[-1], "original"] - pinned[models[0], "original"]).abs()
    pinned = pinned.loc[gap.sort_values(ascending=False, kind="stable").index]
    inside, positive = data.members[identity], data.positive()
    removed = int(0.5 * int((inside & ~positive).sum()))
    notes = [
        f"* {removed:,} of its negative rows were removed at random (mean of {trials} trials). "
        f"{(inside & positive).sum():,} of the remaining {inside.sum() - removed:,} rows are positive."
    ]
    for model in models:
        line = skew.loc[identity, model]
        values = (
            f"{WORDS[cell]} {decimals(2)(line['original', cell])} and {decimals(2)(line['skewed', cell])}"
            for cell in BIAS_AUCS
        )
        notes.append(f"AUCs of {model} for this identity, before and after: {', '.join(values)}.")
    parts = {"original": "original rows", "skewed": "skewed rows*"}
    columns = {
        (model, part): ColumnFormat((heading, model), decimals(2))
        for part, heading in parts.items()
        for model in models
    }
    caption = f"Pinned AUC with fewer negative rows of {identity}"
    return Table("skew", caption, pinned.rename({identity: f"{identity}*"}), columns, notes)


def _matrix_table(name: str, caption: str, matrix: pd.DataFrame) -> Table:
    return Table(name, caption, matrix, {label: ColumnFormat(label, decimals(3)) for label in matrix})


def _matrix(tables: pd.DataFrame, cell: str) -> pd.DataFrame:
    """Return the matrix of a metric by identity and label, in their order."""
    labels, names = (tables.index.get_level_values(level).unique() for level in ("label", "identity"))
    return tables[cell].unstack("label").reindex(index=names, columns=labels)


def _undefined_cells(tables: pd.DataFrame, cell: str) -> list[str]:
    """Return notes on the undefined values of a metric."""
    labels = tables.index.get_level_values("label").unique()
    return why_empty(
        (f"{identity} x {label}" if len(labels) > 1 else identity, why)
        for label in labels
        for identity, term, why in undefined(tables.loc[label]).itertuples(index=False, name=None)
        if term == cell
    )


def labels_section(data: Data, kept: Data, predictions: Predictions, lowest: int) -> Section:
    """Return the five matrices of identities x labels, each with the overall AUCs and its extremes."""
    tables, overall = label_tables(kept, predictions), overall_aucs(data, predictions)
    columns = {"overall_auc": ColumnFormat("AUC", decimals(5))}
    blocks = [Table("overall_aucs", "Overall AUC", overall.to_frame(), columns)]
    for cell in CELLS:
        matrix = _matrix(tables, cell)
        frame = pd.concat([pd.DataFrame([overall], ["overall AUC"]), matrix]).rename_axis("identity")
        shown = {label: ColumnFormat(label, decimals(3), cell) for label in overall.index}
        blocks.append(Table(cell, WORDS[cell], frame, shown, _undefined_cells(tables, cell)))
        blocks += _extremes(cell, matrix, lowest)
    has_one = not isinstance(predictions, Mapping) and len(overall) > 1
    texts = [ONE_PREDICTION] if has_one else []
    if unpredicted := [label for label in data.labels if label not in overall]:
        texts.append(f"Not predicted: {', '.join(unpredicted)}.")
    return Section("labels", "Labels and identities", texts, blocks)


def _extremes(cell: str, matrix: pd.DataFrame, most: int) -> Iterator[Table]:
    """Yield tables of the lowest and highest AUCs, or of the AEGs furthest from 0."""
    values = matrix.melt(ignore_index=False, var_name="label").dropna()
    values = values.loc[[name for name in matrix.index if name in values.index]]
    keys: dict[str, tuple[str, Callable[[pd.Series], pd.Series]]] = {
        "lowest": (f"the {most} lowest values", lambda each: each),
        "highest": (f"the {most} highest values", lambda each: -each),
    }
    if cell in AEGS:
        near = (f"{share((values['value'].abs() < gap).mean())} below {gap:g}" for gap in SMALL_GAPS)
        what = f"the {most} values furthest from 0 (absolute values of all: {', '.join(near)})"
        keys = {"furthest": (what, lambda each: -each.abs())}
    columns = {"label": ColumnFormat("label", str), "value": ColumnFormat("value", decimals(3))}
    for name, (what, key) in keys.items():
        ordered = values.sort_values("value", key=key, kind="stable")[:most]
        yield Table(f"{cell} {name}", f"{WORDS[cell]}: {what}", ordered, columns)


def association_section(data: Data, predictions: Models) -> Section:
    """Return correlations between identities and predictions, and mean predictions by class."""
    correlations, means = prediction_correlations(data, predictions), mean_scores(data, predictions)
    caption = "Correlations between identities (fractions) and predictions"
    blocks = [_matrix_table("correlations", caption, correlations)]
    formats = {
        "subgroup_rows": ColumnFormat("count", count),
        "subgroup_mean": ColumnFormat("mean", scaled),
        "background_mean": ColumnFormat("background", scaled),
        "difference": ColumnFormat("difference", change),
    }
    for label, of_label in means.groupby("label", sort=False):
        classes = {of: each.set_index("identity") for of, each in of_label.groupby("of", sort=False)}
        columns = {
            (of, name): ColumnFormat((f"{of!s} rows", each.heading), each.form)
            for of in classes
            for name, each in formats.items()
        }
        frame = pd.concat(classes, axis=1)[list(columns)]
        blocks.append(Table(f"means {label}", f"Mean prediction: {label}", frame, columns))
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
    of_rates = {"group": ColumnFormat("group", str), "pairs": ColumnFormat("pairs", count)}
    of_rates |= {"rate": ColumnFormat("rate", share), "share_tied": ColumnFormat("ties", share)}
    of_scores = {
        "group": ColumnFormat("group", str),
        "role": ColumnFormat("role", str),
        "rows": ColumnFormat("rows", count),
    }
    of_scores |= {"mean": ColumnFormat("mean", scaled), "deviation": ColumnFormat("deviation", scaled)}
    blocks: list[Table | Chart] = [
        Table("rates", caption, rates.set_index("label"), of_rates),
        Table("scores", "Predictions", scores.set_index("label"), of_scores),
    ]
    if len(rates) and rates["group"].nunique() <= COMBINED_GROUPS:
        blocks.insert(0, charts.rate_bars(caption, rates))
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
    columns = {
        "term": ColumnFormat("term", lambda term: WORDS[term]),
        "original": ColumnFormat("original", decimals(5)),
    }
    columns |= {
        "fuzzed": ColumnFormat("fuzzed", decimals(5)),
        "difference": ColumnFormat("difference", signed(5)),
    }
    blocks = [Table("terms", "Terms and score", terms, columns)]
    original, fuzzed = (label_tables(data, scores) for data, (_, scores) in zip(kept, sets, strict=True))
    both = original.index[original.index.isin(fuzzed.index)]
    original, fuzzed = original.loc[both], fuzzed.loc[both]
    labels = both.get_level_values("label").unique()
    for cell in CELLS:
        parts = {"original": original[cell], "fuzzed": fuzzed[cell]}
        long = pd.DataFrame({**parts, "difference": fuzzed[cell] - original[cell]})
        frame = pd.concat({label: long.loc[label] for label in labels}, axis=1) if len(labels) else long
        shown = {
            (label, part): ColumnFormat((label, part), form, metric)
            for label in labels
            for part, form, metric in (
                ("original", decimals(3), cell),
                ("fuzzed", decimals(3), cell),
                ("difference", signed(3), ""),
            )
        }
        blocks.append(Table(cell, WORDS[cell], frame, shown, _undefined_cells(fuzzed, cell)))
    if are_twins and len(shifts := score_shifts(ours, theirs)):
        of_rows = {name: ColumnFormat(name, count) for name in ("rows", "raised", "lowered")}
        of_rows["mean"] = ColumnFormat("mean change", change)
        of_rows["mean_absolute"] = ColumnFormat("mean absolute change", scaled)
        blocks.append(Table("shifts", "Changes of the predictions", shifts.set_index("label"), of_rows))
    names = ("Original", "Fuzzed")
    small = zip(names, (data for data, _ in sets), kept, strict=True)
    texts = [f"{name} set: {text}" for name, data, each in small for text in omitted(data, each)]
    return Section("fuzzed", "Fuzzed set", texts, blocks)


def audit_sections(data: Data) -> list[Section]:
    """Return the sections of an audit of the data without a model."""
    if not data.identities:
        return [_fractions(data)]
    return [_associations(data), _fractions(data), _together(data)]


def _associations(data: Data) -> Section:
    units = {"comments": "over comments", "pairs": "over pairs of identity and label"}
    named = {
        **{f"correlations {each}": f"Pearson's r ({each})" for each in ("fractions", "binarized")},
        **{f"ppmi {unit}": f"PPMI ({words})" for unit, words in units.items()},
    }
    found = [label_correlations(data, "fractions"), label_correlations(data, "binarized")]
    found += [ppmi(data, "comments"), ppmi(data, "pairs")]
    matrices = zip(named.items(), found, strict=True)
    texts, blocks = [ASSOCIATION_TEXT], [_matrix_table(*name, each) for name, each in matrices]
    if len(data.labels) == 1:
        columns = {name: each[data.label] for name, each in zip(named.values(), found, strict=True)}
        texts = [*texts, ONE_LABEL_TEXT]
        blocks = [_matrix_table("associations", f"Identities and {data.label}", pd.DataFrame(columns))]
    means = mean_labels(data).fillna({"identity": "all rows"}).set_index("identity")
    formats = {"label": ColumnFormat("label", str), "rows": ColumnFormat("count", count)}
    formats |= {"positives": ColumnFormat("positive", count), "mean": ColumnFormat("mean", decimals(3))}
    formats["mean_of_positives"] = ColumnFormat("mean of positive rows", decimals(3))
    blocks.append(Table("mean_labels", "Mean labels", means, formats))
    return Section("associations", "Identities and labels in the data", texts, blocks)


def _fractions(data: Data) -> Section:
    counts, reached = fractions(data).rename_axis("column"), sweep(data)
    shares = reached.div(counts["rows"].where(counts["rows"] > 0), axis=0)
    is_graded = counts[list(TENTHS[1:-1])].any(axis=1) | (reached.nunique(axis=1) > 1)
    blocks: list[Table | Chart] = []
    if is_graded.any():
        graded, columns = counts[is_graded][["blanks"]], {"blanks": ColumnFormat("blank", count)}
        for threshold in TENTHS[1:]:
            cells = zip(reached.loc[is_graded, threshold], shares.loc[is_graded, threshold], strict=True)
            graded[f">= {threshold:g}"] = [f"{rows:,} ({share(part)})" for rows, part in cells]
            columns[f">= {threshold:g}"] = ColumnFormat(f">= {threshold:g}", str)
        blocks.append(Table("thresholds", "Positive rows by threshold", graded, columns))
        tenths = counts.loc[is_graded, list(TENTHS)]
        blocks += [charts.fraction_chart(str(name), line) for name, line in tenths.iterrows()]
    if not is_graded.all():
        plain = counts[~is_graded][["blanks"]].assign(positive=counts[TENTHS[-1]], share=shares[TENTHS[-1]])
        columns = {"blanks": ColumnFormat("blank", count), "positive": ColumnFormat("positive", count)}
        columns["share"] = ColumnFormat("share", share)
        caption = "Columns with only 0 and 1, for which the threshold does not matter"
        blocks.append(Table("binary", caption, plain, columns))
    return Section("fractions", "Raters' fractions", (), blocks)


def _together(data: Data) -> Section:
    both, per_row = co_mentions(data), identities_per_row(data)
    mentions, rows = int((per_row.index * per_row).sum()), (int(per_row.sum()), int(per_row[1:].sum()))
    mean, where_any = (decimals(3)(mentions / each if each else None) for each in rows)
    sizes = pd.Series({name: both.loc[name, name] for name in both.index}, dtype=float)
    means = (both.sum(axis=1) / sizes.where(sizes > 0)).to_frame("mean").rename_axis("identity")
    per_row_caption = f"Identities per row: mean {mean}; {where_any} in rows with at least one"
    caption = "Mean number of identities in the rows that mention each identity, including that identity"
    blocks = [
        Table(
            "identities_per_row", per_row_caption, per_row.to_frame(), {"rows": ColumnFormat("rows", count)}
        ),
        Table("mean_by_identity", caption, means, {"mean": ColumnFormat("mean", decimals(3))}),
        Table("rows", "Rows that mention both", both, {name: ColumnFormat(name, count) for name in both}),
    ]
    blank = "count as not mentioned" if data.background == "all" else "are excluded"
    text = f"There are {data.size:,} rows. Blank identities {blank}."
    return Section("co_mentions", "Co-mentions", [text], blocks)
