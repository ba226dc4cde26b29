"""A worked example of the bias metric: eight rows, four of them as cards in a picture."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from grader.metrics.bias.metric_settings import MetricSettings
from grader.metrics.bias.reports import BiasReport, bias_report


class ExampleRow(NamedTuple):
    """A row of the example of the bias metric; `letter` marks the cards in the picture."""

    score: float
    is_positive: bool
    mentions: tuple[bool, bool]
    letter: str = ""


# From the highest to the lowest score. C is a false alarm; the model is fair to the second identity.
ROWS = (
    ExampleRow(0.92, True, (True, False), "D"),
    ExampleRow(0.83, True, (False, True)),
    ExampleRow(0.71, False, (True, False), "C"),
    ExampleRow(0.64, True, (True, False)),
    ExampleRow(0.6, False, (True, False)),
    ExampleRow(0.55, True, (False, False), "B"),
    ExampleRow(0.31, False, (False, False)),
    ExampleRow(0.08, False, (False, True), "A"),
)
LINE = tuple(row for row in reversed(ROWS) if row.letter)
# Whether the positive and the negative rows of each AUC mention the identity.
SETS = {"subgroup_auc": (True, True), "bpsn_auc": (False, True), "bnsp_auc": (True, False)}


class ComparedCards(NamedTuple):
    """The two cards that an AUC compares, and its pairs of rows for the first identity."""

    positive: ExampleRow
    negative: ExampleRow
    is_right: bool
    right_pairs: int
    pairs: int


@dataclass(frozen=True, slots=True)
class BiasExample:
    """The report on the example's rows, and the comparisons for the first of its identities."""

    identities: tuple[str, ...]
    report: BiasReport
    comparisons: dict[str, ComparedCards]
    rows: tuple[ExampleRow, ...] = ROWS
    line: tuple[ExampleRow, ...] = LINE


def bias_example(identities: Sequence[str], settings: MetricSettings) -> BiasExample:
    """Return the example.

    Parameters
    ----------
    identities : sequence of str
        Names of identities. The example uses the first two.
    settings : MetricSettings
        The settings; thresholds are replaced by 0.5, because the example's columns are true or false.

    Returns
    -------
    BiasExample
        The report on the rows, and the pairs of rows that each AUC compares for the first identity.
    """
    names = tuple(identities[:2]) or ("the identity",)
    report = bias_report(
        [row.is_positive for row in ROWS],
        [row.score for row in ROWS],
        {name: [row.mentions[place] for row in ROWS] for place, name in enumerate(names)},
        settings=replace(settings, label_threshold=0.5, identity_threshold=0.5),
    )
    values = report.subgroups[0].as_dict()
    return BiasExample(names, report, {auc: _compared(values[auc], *sets) for auc, sets in SETS.items()})


def _compared(value: float, *mentions: bool) -> ComparedCards:
    positives, negatives = (
        [row for row in ROWS if (row.is_positive, row.mentions[0]) == wanted]
        for wanted in zip((True, False), mentions, strict=True)
    )
    positive, negative = (next(row for row in rows if row.letter) for rows in (positives, negatives))
    pairs = len(positives) * len(negatives)  # without ties
    return ComparedCards(positive, negative, positive.score > negative.score, round(value * pairs), pairs)
