"""Several labels, associations, counterfactual pairs and fuzzed sets, as Hann, Kalil and Payne print them."""

from collections.abc import Mapping

from grader.metrics.analysis.annotations import Annotations
from grader.metrics.analysis.association import mean_scores
from grader.metrics.analysis.correlation import prediction_correlations
from grader.metrics.analysis.fuzzed import FuzzedReport
from grader.metrics.analysis.multilabel import LabelMatrices, label_matrices
from grader.metrics.analysis.pairs import PairReport
from grader.metrics.analysis.table import AEGS, CELLS
from grader.metrics.prepared import FloatArray
from grader.reports.blocks import Section, Table, extremes, matrix_table, number, share, signed, table
from grader.reports.scored import WORDS

SMALL_GAP = 0.1
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
        blocks.append(matrix_table(WORDS[cell], matrix, metric_cell=cell))
        if cell in AEGS:
            within = share(matrix.share_within(SMALL_GAP))
            caption = (
                f"{WORDS[cell]}: the {k} furthest from 0 ({within} of all are below {SMALL_GAP} in size)"
            )
            blocks.append(extremes(caption, matrix.furthest(k)))
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
    lines = [
        (
            each.identity,
            each.label,
            each.of,
            f"{each.subgroup_rows:,}",
            number(each.subgroup_mean),
            number(each.background_mean),
            signed(each.difference),
        )
        for each in means
    ]
    head = ("identity", "label", "rows", "count", "mean", "background", "difference")
    correlations = prediction_correlations(annotations, predictions)
    return Section(
        "association",
        "Identities and predictions",
        (),
        (
            matrix_table("Correlation of identities (fractions) with predictions", correlations),
            table("Mean prediction", head, lines),
        ),
        {"correlations": correlations.as_dict(), "mean_scores": [each.as_dict() for each in means]},
    )


def pairs_section(found: PairReport) -> Section:
    """Return how often one role of a counterfactual pair is scored higher, by group and combined."""
    first, second = found.roles
    rates = [
        (each.label, each.group, f"{each.pairs:,}", share(each.rate), share(each.share_tied))
        for each in found.rates
    ]
    scores = [
        (each.label, each.group, each.role, f"{each.rows:,}", number(each.mean), number(each.deviation))
        for each in found.scores
    ]
    return Section(
        "pairs",
        "Counterfactual pairs",
        (f"Two rows differ in one thing. One half means that {first} and {second} are scored alike.",),
        (
            table(
                f"How often {first} is scored higher than {second}, ties one half",
                ("label", "group", "pairs", "rate", "ties"),
                rates,
            ),
            table("Predictions", ("label", "group", "role", "rows", "mean", "deviation"), scores),
        ),
        found.as_dict(),
    )


def fuzzed_section(found: FuzzedReport) -> Section:
    """Return every metric on the original and on the fuzzed set, and the differences."""
    lines = [
        (
            label,
            WORDS[name],
            number(change.original, 4),
            number(change.fuzzed, 4),
            signed(change.difference, 4),
        )
        for label, changes in found.terms.items()
        for name, change in changes.items()
    ]
    head = ("label", "term", "original", "fuzzed", "difference")
    blocks = [table("Terms and score", head, lines)]
    blocks += [
        matrix_table(f"{WORDS[cell]}: fuzzed minus original", found.differences(cell)) for cell in CELLS
    ]
    if found.shifts:
        shifts = [
            (
                each.label,
                f"{each.rows:,}",
                f"{each.raised:,}",
                f"{each.lowered:,}",
                signed(each.mean),
                number(each.mean_absolute),
            )
            for each in found.shifts
        ]
        of_rows = ("label", "rows", "raised", "lowered", "mean change", "mean size of change")
        blocks.append(table("Row by row", of_rows, shifts))
    return Section("fuzzed", "Fuzzed set", (), tuple(blocks), found.as_dict())


def _overall(found: LabelMatrices) -> Table:
    aucs = found.overall_aucs
    return table("Overall AUC", tuple(aucs), [tuple(number(auc, 4) for auc in aucs.values())])
