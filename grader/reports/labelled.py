"""Report sections of several labels, associations, counterfactual pairs and fuzzed sets (Hann et al.)."""

from collections.abc import Iterator, Mapping, Sequence

from grader.charts.axes import Axis
from grader.charts.frame import grouped_bar_chart
from grader.metrics.analysis.annotations.annotations import Annotations
from grader.metrics.analysis.annotations.association import (
    CLASSES,
    MeanScore,
    mean_scores,
    prediction_correlations,
)
from grader.metrics.analysis.annotations.multilabel import LabelMatrices, label_matrices
from grader.metrics.analysis.experiments.fuzzed import FuzzedReport
from grader.metrics.analysis.experiments.pairs import PairReport
from grader.metrics.analysis.table import AEGS, CELLS
from grader.metrics.prepared import FloatArray
from grader.metrics.subgroups import Cell
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
from grader.reports.scored import WORDS

SMALL_GAPS = (0.05, 0.15, 0.25)
COMBINED_GROUPS = 6
ONE_PREDICTION = (
    "There is one column of predictions, held against every label: what it says about a label that it does "
    "not predict is how the two go together, not how well that label is predicted."
)


def labels_section(
    annotations: Annotations, predictions: Mapping[str, FloatArray] | FloatArray, *, minimum_size: int, k: int
) -> Section:
    """Return the five matrices of identities x labels, each below the overall AUCs."""
    found = label_matrices(annotations, predictions, minimum_size=minimum_size)
    blocks: list[Table] = [_overall(found)]
    for cell in CELLS:
        matrix = found.matrix(cell)
        blocks.append(matrix_table(WORDS[cell], matrix, metric_cell=cell, overall_aucs=found.overall_aucs))
        if cell in AEGS:
            within = ", ".join(f"{share(matrix.share_within(gap))} below {gap:g}" for gap in SMALL_GAPS)
            blocks.append(
                extremes(
                    f"{WORDS[cell]}: the {k} furthest from 0 (of all, {within} in size)", matrix.furthest(k)
                )
            )
        else:
            blocks.append(extremes(f"{WORDS[cell]}: the {k} lowest", matrix.lowest(k)))
            blocks.append(extremes(f"{WORDS[cell]}: the {k} highest", matrix.highest(k)))
    texts = [ONE_PREDICTION] if found.has_one_prediction else []
    if found.unpredicted:
        texts.append(f"Not predicted: {', '.join(found.unpredicted)}.")
    return Section("labels", "Labels and identities", tuple(texts), tuple(blocks), found.as_dict())


def association_section(
    annotations: Annotations, predictions: Mapping[str, FloatArray] | FloatArray
) -> Section:
    """Return how identities go together with predictions, and the mean predictions by class."""
    means = mean_scores(annotations, predictions)
    correlations = prediction_correlations(annotations, predictions)
    return Section(
        "association",
        "Identities and predictions",
        (),
        (
            matrix_table("Correlation of identities (fractions) with predictions", correlations),
            *_mean_tables(means),
        ),
        {"correlations": correlations.as_dict(), "mean_scores": [each.as_dict() for each in means]},
    )


def _mean_tables(means: Sequence[MeanScore]) -> Iterator[Table]:
    """Return for each label the mean predictions of every identity, class beside class."""
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


def pairs_section(found: PairReport) -> Section:
    """Return how often one role of a counterfactual pair is scored higher, by group and combined."""
    first, second = found.roles
    rates = [
        (each.label, each.group, f"{each.pairs:,}", share(each.rate), share(each.share_tied))
        for each in found.rates
    ]
    scores = [
        (each.label, each.group, each.role, f"{each.rows:,}", scaled(each.mean), scaled(each.deviation))
        for each in found.scores
    ]
    caption = f"How often {first} is scored higher than {second}, ties one half"
    blocks: list[Table | Chart] = [
        table(caption, ("label", "group", "pairs", "rate", "ties"), rates),
        table("Predictions", ("label", "group", "role", "rows", "mean", "deviation"), scores),
    ]
    groups = list(dict.fromkeys(each.group for each in found.rates))
    if found.rates and len(groups) <= COMBINED_GROUPS:
        blocks.insert(0, _rate_bars(caption, found, groups))
    text = (
        f"Two rows differ in one thing. One half means that {first} and {second} are scored alike, or that "
        "groups pull in opposite directions: read each group separately."
    )
    return Section("pairs", "Counterfactual pairs", (text,), tuple(blocks), found.as_dict())


def _rate_bars(caption: str, found: PairReport, groups: list[str]) -> Chart:
    """Return the bars of Figure 11: for each label the rate of each group."""
    labels = list(dict.fromkeys(each.label for each in found.rates))
    by_place = {(each.label, each.group): each.rate for each in found.rates}
    percent = {place: None if rate is None else 100 * rate for place, rate in by_place.items()}
    bars = [(label, [percent[label, group] for group in groups]) for label in labels]
    svg = grouped_bar_chart(caption, bars, groups, Axis("% of the pairs", 0, 100))
    lines = [(label, *(share(by_place[label, group]) for group in groups)) for label in labels]
    return Chart(svg, table(caption, ("label", *groups), lines), is_summed_up=True)


def fuzzed_section(found: FuzzedReport) -> Section:
    """Return every metric on the original and on the fuzzed set, and the differences."""
    lines = [
        (
            label,
            WORDS[name],
            number(change.original, 5),
            number(change.fuzzed, 5),
            signed(change.difference, 5),
        )
        for label, changes in found.terms.items()
        for name, change in changes.items()
    ]
    head = ("label", "term", "original", "fuzzed", "difference")
    blocks = [table("Terms and score", head, lines)]
    blocks += [_both(found, cell) for cell in CELLS]
    if found.shifts:
        shifts = [
            (
                each.label,
                f"{each.rows:,}",
                f"{each.raised:,}",
                f"{each.lowered:,}",
                UNDEFINED if each.mean is None else f"{each.mean:+.3g}",
                scaled(each.mean_absolute),
            )
            for each in found.shifts
        ]
        of_rows = ("label", "rows", "raised", "lowered", "mean change", "mean size of change")
        blocks.append(table("Row by row", of_rows, shifts))
    return Section("fuzzed", "Fuzzed set", (), tuple(blocks), found.as_dict())


def _both(found: FuzzedReport, cell: Cell) -> Table:
    """Return one metric of every identity and label on both sets, with the difference."""
    original, fuzzed, differences = (
        found.original.matrix(cell),
        found.fuzzed.matrix(cell),
        found.differences(cell),
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


def _overall(found: LabelMatrices) -> Table:
    lines = [(label, number(auc, 5)) for label, auc in found.overall_aucs.items()]
    return table("Overall AUC", ("label", "AUC"), lines)
