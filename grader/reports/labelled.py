"""Report sections for data audits, multiple labels, counterfactual pairs and fuzzed sets."""

from collections.abc import Iterator, Mapping, Sequence

from fairboard.bias.analysis.annotations import TENTHS, Annotations, FractionCounts
from fairboard.bias.analysis.association import (
    CLASSES,
    MeanScore,
    mean_scores,
    prediction_correlations,
)
from fairboard.bias.analysis.audit import CoMentions, DataAudit
from fairboard.bias.analysis.counterfactual_pairs import PairReport
from fairboard.bias.analysis.fuzzed_texts import FuzzedReport
from fairboard.bias.analysis.matrix import LabelMatrices, Matrix, label_matrices
from fairboard.bias.analysis.table import AEGS, CELLS
from fairboard.bias.prepared import FloatArray
from fairboard.bias.subgroups import Cell
from grader.charts.frame import bar_chart
from grader.charts.svg import Axis
from grader.reports.blocks import (
    UNDEFINED,
    Chart,
    Section,
    Table,
    extremes,
    matrix_table,
    metric,
    number,
    scaled,
    share,
    signed,
    table,
    why_empty,
)
from grader.reports.blocks import Cell as BlockCell
from grader.reports.scored import WORDS, omitted

SMALL_GAPS = (0.05, 0.15, 0.25)
COMBINED_GROUPS = 6
ONE_PREDICTION = (
    "The file has only one column of predictions, which is compared with every label. For a label that it "
    "does not predict, the "
    "values show the association between predictions and label, not the quality of the predictions."
)
READINGS = {"fractions": "fractions", "binarized": "binarized"}
UNITS = {"comments": "over comments", "pairs": "over pairs of identity and label"}


def labels_section(
    annotations: Annotations, predictions: Mapping[str, FloatArray] | FloatArray, *, minimum_size: int, k: int
) -> Section:
    """Return the five matrices of identities x labels, each with the overall AUCs."""
    matrices = label_matrices(annotations, predictions, minimum_size=minimum_size)
    blocks: list[Table] = [_overall(matrices)]
    for cell in CELLS:
        matrix = matrices.matrix(cell)
        blocks.append(matrix_table(WORDS[cell], matrix, metric_cell=cell, overall_aucs=matrices.overall_aucs))
        if cell in AEGS:
            within = ", ".join(f"{share(matrix.share_within(gap))} below {gap:g}" for gap in SMALL_GAPS)
            blocks.append(
                extremes(
                    f"{WORDS[cell]}: the {k} values furthest from 0 (absolute values of all: {within})",
                    matrix.furthest(k),
                )
            )
        else:
            blocks.append(extremes(f"{WORDS[cell]}: the {k} lowest values", matrix.lowest(k)))
            blocks.append(extremes(f"{WORDS[cell]}: the {k} highest values", matrix.highest(k)))
    texts = [ONE_PREDICTION] if matrices.has_one_prediction else []
    if matrices.unpredicted:
        texts.append(f"Not predicted: {', '.join(matrices.unpredicted)}.")
    return Section("labels", "Labels and identities", tuple(texts), tuple(blocks), matrices.as_dict())


def association_section(
    annotations: Annotations, predictions: Mapping[str, FloatArray] | FloatArray
) -> Section:
    """Return correlations between identities and predictions, and mean predictions by class."""
    means = mean_scores(annotations, predictions)
    correlations = prediction_correlations(annotations, predictions)
    return Section(
        "association",
        "Identities and predictions",
        (),
        (
            matrix_table("Correlations between identities (fractions) and predictions", correlations),
            *_mean_tables(means),
        ),
        {"correlations": correlations.as_dict(), "mean_scores": [each.as_dict() for each in means]},
    )


def _mean_tables(means: Sequence[MeanScore]) -> Iterator[Table]:
    """Yield a table for each label with the mean predictions of all identities, by class."""
    lines: dict[str, dict[str, list[str]]] = {}
    for each in means:
        lines.setdefault(each.label, {}).setdefault(each.identity, []).extend(
            (
                f"{each.subgroup_rows:,}",
                scaled(each.subgroup_mean),
                scaled(each.background_mean),
                UNDEFINED if each.difference is None else f"{each.difference:+.3g}",
            )
        )
    groups = [(f"{of} rows", 4) for of in CLASSES]
    head = ("identity", *(len(CLASSES) * ("count", "mean", "background", "difference")))
    for label, by_identity in lines.items():
        rows = ((identity, *cells) for identity, cells in by_identity.items())
        yield table(f"Mean prediction: {label}", head, rows, groups=groups)


def pairs_section(report: PairReport) -> Section:
    """Return how often the first role of a pair is scored higher, by group and overall."""
    first, second = report.roles
    rates = [
        (
            each.label,
            each.group,
            f"{each.pairs:,}",
            share(each.rate),
            share(each.share_tied),
        )
        for each in report.rates
    ]
    scores = [
        (each.label, each.group, each.role, f"{each.rows:,}", scaled(each.mean), scaled(each.deviation))
        for each in report.scores
    ]
    caption = f"Share of pairs in which {first} is scored higher than {second} (ties count as one half)"
    blocks: list[Table | Chart] = [
        table(caption, ("label", "group", "pairs", "rate", "ties"), rates),
        table("Predictions", ("label", "group", "role", "rows", "mean", "deviation"), scores),
    ]
    groups = list(dict.fromkeys(each.group for each in report.rates))
    if report.rates and len(groups) <= COMBINED_GROUPS:
        blocks.insert(0, _rate_bars(caption, report, groups))
    text = (
        f"The rows of a pair differ in one respect. A rate of 50% means that {first} and {second} are scored "
        "equally, or that the effects in different groups cancel out. Compare the groups separately."
    )
    return Section("pairs", "Counterfactual pairs", (text,), tuple(blocks), report.as_dict())


def _rate_bars(caption: str, report: PairReport, groups: list[str]) -> Chart:
    """Return a bar chart like Figure 11, which shows the rate of each group for each label."""
    labels = list(dict.fromkeys(each.label for each in report.rates))
    by_place = {(each.label, each.group): each.rate for each in report.rates}
    percent = {place: None if rate is None else 100 * rate for place, rate in by_place.items()}
    bars = [(label, [percent[label, group] for group in groups]) for label in labels]
    svg = bar_chart(caption, bars, groups, Axis("% of the pairs", 0, 100))
    lines = [(label, *(share(by_place[label, group]) for group in groups)) for label in labels]
    return Chart(svg, table(caption, ("label", *groups), lines), is_summed_up=True)


def fuzzed_section(report: FuzzedReport) -> Section:
    """Return every metric on the original and on the fuzzed set, with the differences."""
    lines = [
        (
            label,
            WORDS[name],
            number(change.original, 5),
            number(change.fuzzed, 5),
            signed(change.difference, 5),
        )
        for label, changes in report.terms.items()
        for name, change in changes.items()
    ]
    head = ("label", "term", "original", "fuzzed", "difference")
    blocks = [table("Terms and score", head, lines)]
    blocks += [_both(report, cell) for cell in CELLS]
    if report.shifts:
        shifts = [
            (
                each.label,
                f"{each.rows:,}",
                f"{each.raised:,}",
                f"{each.lowered:,}",
                UNDEFINED if each.mean is None else f"{each.mean:+.3g}",
                scaled(each.mean_absolute),
            )
            for each in report.shifts
        ]
        of_rows = ("label", "rows", "raised", "lowered", "mean change", "mean absolute change")
        blocks.append(table("Changes of the predictions", of_rows, shifts))
    small = {"Original": report.original.too_small, "Fuzzed": report.fuzzed.too_small}
    texts = (f"{name} set: {text}" for name, each in small.items() for text in omitted(each))
    return Section("fuzzed", "Fuzzed set", tuple(texts), tuple(blocks), report.as_dict())


def _both(report: FuzzedReport, cell: Cell) -> Table:
    """Return a table of one metric on both sets, with differences, by identity and label."""
    original, fuzzed, differences = (
        report.original.matrix(cell),
        report.fuzzed.matrix(cell),
        report.differences(cell),
    )
    lines: list[list[BlockCell | str]] = [
        [
            identity,
            *(
                each
                for label in differences.labels
                for each in (
                    metric(cell, original.value(identity, label), 3),
                    metric(cell, fuzzed.value(identity, label), 3),
                    signed(differences.value(identity, label)),
                )
            ),
        ]
        for identity in differences.identities
    ]
    head = ("identity", *("original", "fuzzed", "difference") * len(differences.labels))
    groups = [(label, 3) for label in differences.labels]
    reasons = ((identity, reason) for (identity, _), reason in differences.reasons.items())
    return table(WORDS[cell], head, lines, groups=groups, notes=why_empty(reasons))


def _overall(matrices: LabelMatrices) -> Table:
    lines = [(label, number(auc, 5)) for label, auc in matrices.overall_aucs.items()]
    return table("Overall AUC", ("label", "AUC"), lines)


def audit_sections(audit: DataAudit) -> tuple[Section, ...]:
    """Return the sections of a data audit."""
    if not audit.identities:
        return (_fractions(audit),)
    return (_associations(audit), _fractions(audit), _together(audit.co_mentions, audit))


def _associations(audit: DataAudit) -> Section:
    matrices = {
        **{f"Pearson's r ({READINGS[reading]})": matrix for reading, matrix in audit.correlations.items()},
        **{f"PPMI ({UNITS[unit]})": matrix for unit, matrix in audit.ppmi.items()},
    }
    one_label = len(audit.labels) == 1
    blocks = [_beside(matrices)] if one_label else [matrix_table(*each) for each in matrices.items()]
    means = [
        (
            each.identity or "all rows",
            each.label,
            f"{each.rows:,}",
            f"{each.positives:,}",
            number(each.mean),
            number(each.mean_of_positives),
        )
        for each in audit.mean_labels
    ]
    head = ("rows", "label", "count", "positive", "mean", "mean of positive rows")
    blocks.append(table("Mean labels", head, means))
    data = {
        "correlations": {reading: matrix.as_dict() for reading, matrix in audit.correlations.items()},
        "ppmi": {unit: matrix.as_dict() for unit, matrix in audit.ppmi.items()},
        "mean_labels": [each.as_dict() for each in audit.mean_labels],
    }
    text = (
        "Associations are measured by Pearson's correlation and positive pointwise mutual information "
        "(PPMI). PPMI is the natural logarithm of how much more often an identity and a label occur together "
        "than if they were independent. It is 0 if they occur together less often."
    )
    alone = "PPMI over pairs compares labels with each other, so a single label always has 0 or no value."
    texts = (text, alone) if one_label else (text,)
    return Section("associations", "Identities and labels in the data", texts, tuple(blocks), data)


def _beside(matrices: Mapping[str, Matrix]) -> Table:
    """Return matrices of a single label as the columns of one table."""
    first = next(iter(matrices.values()))
    label = first.labels[0]
    lines = [
        (identity, *(number(matrix.value(identity, label)) for matrix in matrices.values()))
        for identity in first.identities
    ]
    reasons = (
        (identity, reason) for matrix in matrices.values() for (identity, _), reason in matrix.reasons.items()
    )
    return table(f"Identities and {label}", ("identity", *matrices), lines, notes=why_empty(reasons))


def _fractions(audit: DataAudit) -> Section:
    columns = (*audit.labels, *audit.identities)
    graded = [each for each in columns if _is_graded(each)]
    plain = [each for each in columns if not _is_graded(each)]
    blocks: list[Table | Chart] = []
    if graded:
        thresholds = [f">= {each.threshold:g}" for each in graded[0].sweep]
        lines = [
            (
                each.name,
                f"{each.blanks:,}",
                *(f"{count.rows:,} ({share(count.share)})" for count in each.sweep),
            )
            for each in graded
        ]
        head = ("column", "blank", *thresholds)
        blocks += [table("Positive rows by threshold", head, lines)]
        blocks += map(_fraction_chart, graded)
    if plain:
        counts = [
            (each.name, f"{each.blanks:,}", f"{each.tenths[-1]:,}", share(each.sweep[-1].share))
            for each in plain
        ]
        caption = "Columns with only 0 and 1, for which the threshold does not matter"
        blocks.append(table(caption, ("column", "blank", "positive", "share"), counts))
    data = [each.as_dict() for each in columns]
    return Section("fractions", "Raters' fractions", (), tuple(blocks), data)


def _is_graded(counts: FractionCounts) -> bool:
    return any(counts.tenths[1:-1]) or len({each.rows for each in counts.sweep}) > 1


def _fraction_chart(counts: FractionCounts) -> Chart:
    title = f"{counts.name}: distribution of values"
    highest = max(*counts.tenths, 1)
    bars = [(f"{tenth:g}", [rows]) for tenth, rows in zip(TENTHS, counts.tenths, strict=True)]
    lines = [(f"{tenth:g}", f"{rows:,}") for tenth, rows in zip(TENTHS, counts.tenths, strict=True)]
    svg = bar_chart(
        title,
        bars,
        (),
        Axis("rows (logarithmic)", 0.5, highest * 1.3, is_logarithmic=True),
        "value, rounded to tenths",
    )
    return Chart(svg, table(title, ("value", "rows"), lines))


def _together(joint: CoMentions, whole: DataAudit) -> Section:
    per_row = table(
        f"Identities per row: mean {number(joint.mean)}; {number(joint.mean_where_any)} in rows with at "
        "least one",
        ("identities", "rows"),
        ((str(count), f"{rows:,}") for count, rows in enumerate(joint.identities_per_row)),
    )
    both = table(
        "Rows that mention both",
        ("identity", *joint.identities),
        (
            (name, *(f"{rows:,}" for rows in line))
            for name, line in zip(joint.identities, joint.rows, strict=True)
        ),
    )
    mentioned = table(
        "Mean number of identities in the rows that mention each identity, including that identity",
        ("identity", "mean"),
        ((name, number(mean)) for name, mean in joint.mean_by_identity.items()),
    )
    blank = "count as not mentioned" if whole.background == "all" else "are excluded"
    text = f"There are {whole.rows:,} rows. Blank identities {blank}."
    return Section("co_mentions", "Co-mentions", (text,), (per_row, mentioned, both), joint.as_dict())
