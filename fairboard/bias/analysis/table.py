"""Per-identity metric table (Borkan et al., 2019), and comparison of two tables."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from fairboard.bias.analysis.rows import Background, CountedRows, Rows, count
from fairboard.bias.subgroups import BIAS_AUCS, Cell, Flat, Undefined, reason, values_of

AEGS: tuple[Cell, ...] = ("negative_aeg", "positive_aeg")
CELLS: tuple[Cell, ...] = (*BIAS_AUCS, *AEGS)
Column = Literal[Cell, "name", "category", "size", "positives", "share_positive", "mean_auc"]

# The ends of the color scales in Tables 3 and 6.
_WORST_AUC = 0.5
_LARGEST_AEG = 0.5


@dataclass(frozen=True, slots=True)
class TableLine(Flat):
    """The table row of one identity; undefined values are None.

    Attributes
    ----------
    name : str
    category : str or None
        The category of the identity, such as ``"religion"``.
    size, positives : int
        Number of rows that mention the identity, and number of positive rows among them.
    subgroup_auc, bpsn_auc, bnsp_auc : float or None
        The three bias AUCs, in [0, 1].
    negative_aeg, positive_aeg : float or None
        The average equality gaps, in [-0.5, 0.5]. Above 0, the subgroup is scored higher than its
        background.
    """

    DERIVED = ("share_positive",)

    name: str
    category: str | None
    size: int
    positives: int
    subgroup_auc: float | None
    bpsn_auc: float | None
    bnsp_auc: float | None
    negative_aeg: float | None
    positive_aeg: float | None

    @property
    def share_positive(self) -> float | None:
        """Share of the identity's rows that are positive, in [0, 1]; None if it has no rows."""
        return self.positives / self.size if self.size else None

    @property
    def mean_auc(self) -> float | None:
        """Mean of the three AUCs, used to sort Table 3; None if any of them is undefined."""
        aucs = [self.subgroup_auc, self.bpsn_auc, self.bnsp_auc]
        defined = [auc for auc in aucs if auc is not None]
        return sum(defined) / len(aucs) if len(defined) == len(aucs) else None


@dataclass(frozen=True, slots=True)
class MetricTable:
    """All five metrics for one model, by identity.

    Attributes
    ----------
    rows, positives : int
        Number of measured rows, and number of positive rows among them.
    overall_auc : float or None
        ROC AUC on all rows; None if undefined.
    background : {"all", "annotated"}
        The background with which the identities were compared.
    lines : tuple of TableLine
        The table rows, in the order of the identities unless sorted with `sorted_by`.
    too_small : tuple of (str, int)
        The identities below the minimum size, which are excluded, with their sizes.
    undefined : tuple of Undefined
        The undefined cells, with the reasons.
    """

    rows: int
    positives: int
    overall_auc: float | None
    background: Background
    lines: tuple[TableLine, ...]
    too_small: tuple[tuple[str, int], ...]
    undefined: tuple[Undefined, ...]

    def sorted_by(self, column: Column, *, descending: bool = False) -> "MetricTable":
        """Return the table sorted by a column, with undefined values last."""
        defined = [line for line in self.lines if getattr(line, column) is not None]
        defined.sort(key=lambda line: getattr(line, column), reverse=descending)
        rest = [line for line in self.lines if getattr(line, column) is None]
        return replace(self, lines=(*defined, *rest))

    def lowest(self, k: int, by: Column = "mean_auc") -> "MetricTable":
        """Return a table of the k identities with the lowest defined values, in ascending order."""
        lines = self.sorted_by(by).lines[:k]
        return replace(self, lines=tuple(line for line in lines if getattr(line, by) is not None))

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "rows": self.rows,
            "positives": self.positives,
            "overall_auc": self.overall_auc,
            "background": self.background,
            "identities": [line.as_dict() for line in self.lines],
            "too_small": [{"name": name, "size": size} for name, size in self.too_small],
            "undefined": [asdict(cell) for cell in self.undefined],
        }

    def __str__(self) -> str:
        width = max([len("identity"), *(len(line.name) for line in self.lines)])
        head = f"{'identity':<{width}}{'count':>8}{'positive':>10}"
        lines = [head + "".join(f"{cell:>14}" for cell in CELLS)]
        for line in self.lines:
            share = "-" if line.share_positive is None else f"{line.share_positive:.2%}"
            values = (getattr(line, cell) for cell in CELLS)
            lines.append(
                f"{line.name:<{width}}{line.size:>8}{share:>10}"
                + "".join(f"{'-' if value is None else f'{value:.2f}':>14}" for value in values)
            )
        lines += (f"{name} is omitted: only {size:,} rows mention it." for name, size in self.too_small)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class LineDifference:
    """A comparison of one identity in two tables, for example of two models.

    Attributes
    ----------
    name : str
    candidate, baseline : TableLine or None
        The table rows of the identity; None if the table does not contain it.
    differences : mapping of Cell to float or None
        Candidate minus baseline; None if either is undefined.
    """

    name: str
    candidate: TableLine | None
    baseline: TableLine | None
    differences: Mapping[Cell, float | None]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {
            "name": self.name,
            "candidate": self.candidate and self.candidate.as_dict(),
            "baseline": self.baseline and self.baseline.as_dict(),
            "differences": dict(self.differences),
        }


def metric_table(
    rows: Rows,
    *,
    categories: Mapping[str, str] | None = None,
    minimum_size: int = 0,
    counted: CountedRows | None = None,
) -> MetricTable:
    """Compute all five metrics for each identity.

    Parameters
    ----------
    rows : Rows
        The rows to measure, including the choice of background.
    categories : mapping of str to str, optional
        Categories of identities, for grouping.
    minimum_size : int
        Minimum number of rows that mention an identity. Smaller identities are excluded and listed in
        `too_small`.
    counted : Counted, optional
        The result of `count` for these rows, if it is already available.

    Returns
    -------
    MetricTable

    Notes
    -----
    Borkan et al., "Nuanced Metrics for Measuring Unintended Bias with Real Data for Text
    Classification" (2019), Tables 3 and 6. Table 6 excludes identities with at most 100 rows.

    Examples
    --------
    >>> rows = Rows.of([1, 0, 1, 0], [0.9, 0.3, 0.4, 0.2], {"cat": [1, 1, 0, 0]})
    >>> print(metric_table(rows))
    identity   count  positive  subgroup_auc      bpsn_auc      bnsp_auc  negative_aeg  positive_aeg
    cat            2    50.00%          1.00          1.00          1.00          0.50          0.50
    """
    counted = counted or count(rows)
    lines, too_small, undefined = [], [], []
    for name in rows.names:
        cells = counted.cells[name]
        positives, negatives = cells["subgroup_auc"].first, cells["subgroup_auc"].second
        category = (categories or {}).get(name)
        line = TableLine(name, category, positives + negatives, positives, **values_of(cells))
        if line.size < minimum_size:
            too_small.append((name, line.size))
            continue
        lines.append(line)
        undefined += [
            Undefined(cell, name, reason(cell, comparison), cell in BIAS_AUCS)
            for cell, comparison in cells.items()
            if not comparison.is_defined
        ]
    return MetricTable(
        rows=rows.size,
        positives=int(rows.positive.sum()),
        overall_auc=counted.overall.auc,
        background=rows.background,
        lines=tuple(lines),
        too_small=tuple(too_small),
        undefined=tuple(undefined),
    )


def compare_tables(candidate: MetricTable, baseline: MetricTable) -> tuple[LineDifference, ...]:
    """Compare the tables of two models, or of two slices as in Table 6.

    Parameters
    ----------
    candidate, baseline : MetricTable
        The tables to compare. Differences are candidate minus baseline.

    Returns
    -------
    tuple of LineDifference
        One element for each identity in the order of the candidate's table, followed by the identities
        that only the baseline contains.
    """
    ours, theirs = ({line.name: line for line in table.lines} for table in (candidate, baseline))
    return tuple(
        LineDifference(name, ours.get(name), theirs.get(name), _differences(ours.get(name), theirs.get(name)))
        for name in ours | theirs
    )


def heat(cell: Cell, value: float | None) -> float | None:
    """Return the position of a value on the color scale of its column, as in Tables 3 and 6.

    Returns
    -------
    float or None
        For an AUC, 0 (best) for an AUC of 1, rising linearly to 1 (worst) for 0.5 or less. For an AEG, the
        value scaled from [-0.5, 0.5] to [-1, 1]. None if the value is undefined.
    """
    if value is None:
        return None
    if cell in AEGS:
        return value / _LARGEST_AEG
    return min((1 - value) / (1 - _WORST_AUC), 1.0)


def _differences(candidate: TableLine | None, baseline: TableLine | None) -> dict[Cell, float | None]:
    differences: dict[Cell, float | None] = {}
    for cell in CELLS:
        value = None if candidate is None else getattr(candidate, cell)
        other = None if baseline is None else getattr(baseline, cell)
        differences[cell] = None if value is None or other is None else value - other
    return differences
