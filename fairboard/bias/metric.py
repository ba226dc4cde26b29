"""The bias metric with the common metric interface."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairboard.bias.counts import PairCounts
from fairboard.bias.influence import influences
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.pair_counting import count_ranks
from fairboard.bias.prepared import prepare
from fairboard.bias.reports import BiasReport, report
from fairboard.bias.selfcheck import METRIC_CODE_VERSION
from fairboard.bias.subgroups import BIAS_AUCS, cell_values, comparisons
from fairboard.interface import (
    Columns,
    ColumnSpec,
    Description,
    Direction,
    Exactness,
    GroupLine,
    MetricResult,
    PreparedRows,
    RowArray,
    TermSpec,
    UnsuitableTruth,
)
from fairboard.lost_score import mean_losses, term_costs
from fairboard.measured import Measured
from fairboard.ranks import RankArray, dense_ranks

TARGET, PREDICTION = "target", "prediction"
TERMS = (
    TermSpec(
        "overall_auc",
        "Overall AUC",
        heading="Overall",
        rows="all {positive} rows against all {negative} rows",
        low="the model confuses the two classes in general",
    ),
    TermSpec(
        "subgroup_auc",
        "Subgroup AUC",
        heading="Subgroup",
        is_over_groups=True,
        rows="{positive} against {negative} among rows that mention the identity",
        low="the model cannot separate the two classes there",
        fault="confuses {positive} and {negative} rows that mention {name}",
    ),
    TermSpec(
        "bpsn_auc",
        "BPSN AUC",
        heading="BPSN",
        is_over_groups=True,
        rows="{negative} rows that mention the identity against {positive} rows that do not",
        low="false alarms",
        fault="scores {negative} rows that mention {name} too high",
    ),
    TermSpec(
        "bnsp_auc",
        "BNSP AUC",
        heading="BNSP",
        is_over_groups=True,
        rows="{positive} rows that mention the identity against {negative} rows that do not",
        low="{positive} rows are missed",
        fault="scores {positive} rows that mention {name} too low",
    ),
)
CELLS = (*TERMS[1:], TermSpec("positive_aeg", "Positive AEG"), TermSpec("negative_aeg", "Negative AEG"))


def identity_column(name: str) -> str:
    """Return the key of an identity's annotations among the columns of the truth."""
    return f"identity: {name}"


class BiasMetric:
    """The Jigsaw unintended bias metric with the identities in the score."""

    name = "bias"
    version = str(METRIC_CODE_VERSION)
    encoding = "ranks"

    def __init__(self, identities: Sequence[str], settings: MetricSettings) -> None:
        self._identities, self._settings = tuple(identities), settings

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "BiasMetric":
        """Return the metric of stored settings, which are untagged because receipts contain them.

        They may also name the columns of submissions.
        """
        named = {name: each for name, each in stored["metric"].items() if name not in ("id", "prediction")}
        return cls(stored["identities"], MetricSettings.from_dict(named))

    def describe(self) -> Description:
        """Describe the metric."""
        annotations = tuple(ColumnSpec(identity_column(name)) for name in self._identities)
        weights = self._settings.weights.as_dict()
        return Description(
            "Jigsaw unintended bias",
            "overall AUC and power means of Subgroup, BPSN and BNSP AUC",
            Direction.HIGHEST,
            Exactness.COUNTS,
            (ColumnSpec(TARGET), *annotations),
            # Only the order of the predictions counts.
            (ColumnSpec(PREDICTION, lowest=-sys.float_info.max, highest=sys.float_info.max),),
            tuple(replace(term, weight=weights[term.name]) for term in TERMS),
            term_decimals=4,
            cells=CELLS,
        )

    def encode(self, predictions: Columns) -> RankArray:
        """Return the dense ranks of the predictions."""
        return dense_ranks(predictions[PREDICTION])

    def prepare(self, truth: Columns, rows: RowArray) -> PreparedRows:
        """Prepare the rows of one split; raise UnsuitableTruth for values that cannot be compared."""
        identities = {name: truth[identity_column(name)][rows] for name in self._identities}
        try:
            split = prepare(truth[TARGET][rows], identities, settings=self._settings)
        except ValueError as error:
            raise UnsuitableTruth([str(error)]) from None
        return PreparedRows(rows, split)

    def score(self, prepared: PreparedRows, encoded: RankArray) -> MetricResult:
        """Compute the values of one file on one split; raise UnsuitableTruth if the score is undefined."""
        counts = count_ranks(prepared.data, encoded[prepared.rows])
        values, score = self._report(counts)
        terms = {name: value for name, value in values.terms.items() if value is not None}
        return MetricResult(score, terms, counts.as_dict())

    def measured(self, prepared: PreparedRows, encoded: RankArray) -> Measured:
        """Return the score of one file on one split with the influences of the rows."""
        ranks = encoded[prepared.rows]
        values, score = self._report(count_ranks(prepared.data, ranks))
        return Measured(score, influences(prepared.data, ranks, values, self._settings))

    def recount(self, evidence: Mapping[str, Any]) -> tuple[Mapping[str, int], Sequence[GroupLine]]:
        """Return the counts of the rows and the values of each identity."""
        counts, lines = PairCounts.from_dict(evidence), []
        for identity in counts.identities:
            cells, size = comparisons(counts, identity), identity.positives + identity.negatives
            errors = {name: each.standard_error for name, each in cells.items() if each.pairs}
            rows = {"size": size, "positives": identity.positives}
            lines.append(GroupLine(identity.name, rows, cell_values(cells), errors))
        return {"rows": counts.rows, "positives": counts.positives}, lines

    def loss_parts(
        self, terms: Mapping[str, float], groups: Sequence[GroupLine]
    ) -> dict[tuple[str, str], float]:
        """Divide the costs of the terms among the identities with a defined AUC."""
        parts = dict[tuple[str, str], float]()
        for each in term_costs(terms, self.describe().terms):
            column = each.term if each.term in BIAS_AUCS else ""
            aucs = {line.name: auc for line in groups if (auc := line.cells.get(column)) is not None}
            divided = mean_losses(aucs, self._settings.power, 1.0, each.cost)
            parts |= {(each.term, name): part for name, part in divided.items()} or {
                (each.term, ""): each.cost
            }
        return parts

    def _report(self, counts: PairCounts) -> tuple[BiasReport, float]:
        values = report(counts, self._settings)
        if values.score is None:
            raise UnsuitableTruth([str(each) for each in values.undefined if each.affects_score])
        return values, values.score
