"""Bias report on a submission for one split: score, terms, AUCs of each identity."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import localcontext
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from fairboard.bias.counts import Comparison, IdentityCounts, PairCounts
from fairboard.bias.metric_settings import MetricSettings
from fairboard.bias.pair_counting import count_pairs
from fairboard.bias.prepared import prepare
from fairboard.bias.score import EXACT, means_and_score
from fairboard.bias.subgroups import (
    BIAS_AUCS,
    CELLS,
    SubgroupReport,
    Undefined,
    cell_values,
    comparisons,
    reason,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class BiasReport:
    """All metrics of one submission on one split; undefined values are None.

    Attributes
    ----------
    rows, positives : int
        Number of rows in the split, and number of positive rows among them.
    score : float or None
        The weighted sum of the four terms, in [0, 1].
    overall_auc : float or None
        ROC AUC on all rows.
    power_means : mapping of str to float or None
        The other three terms: the power mean of each bias AUC over the identities in the score.
    subgroups : tuple of SubgroupReport
        The metrics of each identity.
    undefined : tuple of Undefined
        The undefined values, with the reasons.

    Examples
    --------
    >>> print(bias_report([1, 0, 1, 0], [0.9, 0.3, 0.4, 0.2], {"cat": [1, 1, 0, 0]}))
    4 rows, 2 positive
    score 1.00000, overall AUC 1.0000
    <BLANKLINE>
    identity    rows  positives  Subgroup AUC  BPSN AUC  BNSP AUC  positive AEG  negative AEG
    power mean                         1.0000    1.0000    1.0000
    cat            2          1        1.0000    1.0000    1.0000        0.5000        0.5000
    """

    rows: int
    positives: int
    score: float | None
    overall_auc: float | None
    power_means: Mapping[str, float | None]
    subgroups: tuple[SubgroupReport, ...]
    undefined: tuple[Undefined, ...]

    @property
    def terms(self) -> dict[str, float | None]:
        """The four terms of the score by name."""
        return {"overall_auc": self.overall_auc, **self.power_means}

    def to_frame(self) -> "pd.DataFrame":
        """Return a pandas data frame with one row per identity; undefined values are NaN."""
        import pandas as pd

        columns = SubgroupReport.__slots__
        lines = [[getattr(line, column) for column in columns] for line in self.subgroups]
        frame = pd.DataFrame(lines, columns=columns).rename(columns={"name": "identity"})
        return frame.set_index("identity").astype(dict.fromkeys(CELLS, float))

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, used for each split in ``fairboard score --json``."""
        values = asdict(self)
        return values | {key: list(values[key]) for key in ("subgroups", "undefined")}

    def __str__(self) -> str:
        return (self.to_text() + "\n".join(map(str, self.undefined))).rstrip()

    def to_text(self, title: str = "") -> str:
        """Return the score, its terms and a line for each identity, rounded."""
        rows = f"{self.rows:,} {'row' if self.rows == 1 else 'rows'}, {self.positives:,} positive"
        overall = f"score {_rounded(self.score, 5) or 'undefined'}"
        overall += f", overall AUC {_rounded(self.overall_auc) or 'undefined'}"
        head = ["identity", "rows", "positives", *HEADINGS.values()]
        lines = [head, ["power mean", "", "", *(_rounded(self.terms.get(cell)) for cell in CELLS)]]
        for line in self.subgroups:
            name = " ".join((line.name if line.in_score else f"{line.name} (not in score)").splitlines())
            cells = (_rounded(getattr(line, cell)) for cell in CELLS)
            lines.append([name, f"{line.size:,}", f"{line.positives:,}", *cells])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = "".join(
            "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]).rstrip() + "\n"
            for name, *cells in lines
        )
        return f"{title and title + ': '}{rows}\n{overall}\n\n{table}"


HEADINGS: Mapping[str, str] = {
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
    "positive_aeg": "positive AEG",
    "negative_aeg": "negative AEG",
}


def _rounded(value: float | None, decimals: int = 4) -> str:
    return "" if value is None else f"{value:.{decimals}f}"


def bias_report(
    y_true: ArrayLike,
    y_score: ArrayLike,
    subgroups: Mapping[str, ArrayLike],
    *,
    settings: MetricSettings | None = None,
    in_score: Collection[str] | None = None,
) -> BiasReport:
    """Measure the unintended bias of a model.

    Parameters
    ----------
    y_true, subgroups, settings, in_score
        As in `prepare`: labels, and a mapping or data frame with a column for each identity.
    y_score : array_like, shape (n,)
        Predictions: one finite number per row, never thresholded.

    Returns
    -------
    BiasReport
        Undefined values are None. `BiasReport.undefined` contains the reasons.

    Raises
    ------
    ValueError, TypeError
        If an argument has the wrong type, shape, length or content.

    Notes
    -----
    Lists, arrays and columns of pandas are accepted. Rows are matched by position, as in NumPy; the index of
    a pandas object is ignored. The definitions are those of Borkan et al., "Nuanced Metrics for Measuring
    Unintended Bias with Real Data for Text Classification" (2019), and of the evaluation page of the Kaggle
    competition.

    Examples
    --------
    >>> report = bias_report(
    ...     y_true=[1, 0, 1, 0],
    ...     y_score=[0.9, 0.3, 0.4, 0.2],
    ...     subgroups={"cat": [1, 1, 0, 0]},
    ... )
    >>> report.score, report.subgroups[0].positive_aeg
    (1.0, 0.5)
    """
    split = prepare(y_true, subgroups, settings=settings, in_score=in_score)
    return report(count_pairs(split, y_score), settings or MetricSettings())


def report(counts: PairCounts, settings: MetricSettings) -> BiasReport:
    """Create the report from exact pair counts.

    Parameters
    ----------
    counts : PairCounts
        The output of `count_pairs`, which already reflects the two thresholds of the settings.
    settings : MetricSettings
        The metric settings; only the power, the weights and the policy on undefined cells are used.

    Returns
    -------
    BiasReport
        A report that is identical to the last bit for the same counts on any machine.

    Examples
    --------
    >>> from fairboard import count_pairs, prepare
    >>> split = prepare([1, 0, 1, 0], {"cat": [1, 1, 0, 0]})
    >>> report(count_pairs(split, [0.9, 0.3, 0.4, 0.2]), MetricSettings()).score
    1.0
    """
    overall = Comparison(counts.overall_wins, counts.positives, counts.negatives)
    cells = [comparisons(counts, identity) for identity in counts.identities]
    scored = [cell for cell, identity in zip(cells, counts.identities, strict=True) if identity.in_score]
    with localcontext(EXACT):
        aucs = {name: [cell[name].exact_auc for cell in scored] for name in BIAS_AUCS}
        means, score = means_and_score(overall.exact_auc, aucs, settings)
    return BiasReport(
        rows=counts.rows,
        positives=counts.positives,
        score=score,
        overall_auc=overall.auc,
        power_means=means,
        subgroups=tuple(map(_subgroup, counts.identities, cells)),
        undefined=tuple(_undefined(counts, overall, cells)),
    )


def _subgroup(identity: IdentityCounts, cells: Mapping[str, Comparison]) -> SubgroupReport:
    size = identity.positives + identity.negatives
    return SubgroupReport(identity.name, identity.in_score, size, identity.positives, **cell_values(cells))


def _undefined(
    counts: PairCounts, overall: Comparison, cells: Sequence[dict[str, Comparison]]
) -> Iterator[Undefined]:
    if not overall.pairs:
        yield Undefined("overall_auc", None, reason("overall_auc", overall), affects_score=True)
    for identity, comparison_of in zip(counts.identities, cells, strict=True):
        for cell, comparison in comparison_of.items():
            if not comparison.pairs:
                affects_score = identity.in_score and cell in BIAS_AUCS
                yield Undefined(cell, identity.name, reason(cell, comparison), affects_score)
    if not any(identity.in_score for identity in counts.identities):
        for name in BIAS_AUCS:
            yield Undefined(f"mean_{name}", None, "no identity enters the power mean.", affects_score=True)
