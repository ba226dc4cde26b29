"""Building blocks of reports: sections, tables, cells and charts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairboard.bias.analysis.matrix import Matrix
from fairboard.bias.analysis.table import heat
from fairboard.bias.subgroups import Cell as MetricCell

UNDEFINED = "-"
SHADES = 6
SHOWN_NAMES = 12
NARROW_COLUMNS = 6
NARROW_LINE = 40  # characters, which fit on a phone


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text : str
    shade : int
        The intensity of the cell's color, from -6 to 6. Negative values use the second color; 0 is none.
    title : str
        The reason for a missing value, or another remark.
    """

    text: str
    shade: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of each row is its header.

    Attributes
    ----------
    caption : str
    head : tuple of str
    lines : tuple of tuple of Cell
    groups : tuple of (str, int)
        Optional headings above the columns after the first, each with the number of columns that it spans.
    notes : tuple of str
        Sentences below the table, such as reasons for empty cells.
    """

    caption: str
    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """An inline SVG with a table of its data.

    Attributes
    ----------
    svg : str
    table : Table
    is_summed_up : bool
        Whether a preceding table is sufficient in plain text, which cannot show the chart.
    """

    svg: str
    table: Table
    is_summed_up: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """One part of a report.

    Attributes
    ----------
    key : str
        The section's name in JSON and its HTML id.
    title : str
    texts : tuple of str
        Paragraphs before the blocks.
    blocks : tuple of Table or Chart
    data : JSON-ready
        The content in full precision.
    """

    key: str
    title: str
    texts: tuple[str, ...] = ()
    blocks: tuple[Table | Chart, ...] = ()
    data: Any = field(default=None, compare=False)


def table(
    caption: str,
    head: Iterable[str],
    lines: Iterable[Iterable[Cell | str]],
    *,
    groups: Iterable[tuple[str, int]] = (),
    notes: Iterable[str] = (),
) -> Table:
    """Return a table from cells or strings."""
    cells = (tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in line) for line in lines)
    return Table(caption, tuple(head), tuple(cells), tuple(groups), tuple(notes))


def is_wide(table: Table) -> bool:
    """Return whether a table may need scrolling and must therefore be focusable."""
    longest = max((sum(len(cell.text) for cell in line) for line in table.lines), default=0)
    return len(table.head) > NARROW_COLUMNS or longest > NARROW_LINE


def why_empty(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Return sentences that explain missing values, given pairs of a row name and a reason."""
    lines: dict[str, dict[str, None]] = {}
    for line, reason in reasons:
        lines.setdefault(reason.rstrip("."), {}).setdefault(line)
    return [f"{UNDEFINED} {reason}: {listed(list(names))}." for reason, names in lines.items()]


def listed(names: Sequence[str]) -> str:
    """Return the first names as text, and the number of further names."""
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def number(value: float | None, digits: int = 3) -> str:
    """Format a number with fixed decimals; a dash stands for None."""
    return UNDEFINED if value is None else f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 avoids -0


def scaled(value: float | None) -> str:
    """Format a number of any magnitude with three digits; a dash stands for None."""
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".removesuffix(".")


def signed(value: float | None, digits: int = 3) -> str:
    """Format a number with its sign; 0 has no sign, and a dash stands for None."""
    rounded = None if value is None else round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else number(rounded, digits)


def share(value: float | None) -> str:
    """Format a share as a percentage; a dash stands for None."""
    return UNDEFINED if value is None else f"{value:.1%}"


def metric(cell: MetricCell, value: float | None, digits: int = 2, title: str = "") -> Cell:
    """Return a cell with a metric's value, colored as in the tables of the papers."""
    place = heat(cell, value)
    return Cell(number(value, digits), 0 if place is None else round(place * SHADES), title)


def matrix_table(
    caption: str,
    matrix: Matrix,
    *,
    metric_cell: MetricCell | None = None,
    overall_aucs: Mapping[str, float | None] | None = None,
) -> Table:
    """Return a table of identities x labels; if the overall AUCs are given, they are the first row."""
    lines: list[list[Cell | str]] = []
    if overall_aucs is not None:
        lines.append(["overall AUC", *(number(overall_aucs[label]) for label in matrix.labels)])
    for identity, values in zip(matrix.identities, matrix.values, strict=True):
        cells: list[Cell | str] = [identity]
        for label, value in zip(matrix.labels, values, strict=True):
            reason = matrix.reasons.get((identity, label), "")
            cells.append(
                Cell(number(value), title=reason)
                if metric_cell is None
                else metric(metric_cell, value, 3, reason)
            )
        lines.append(cells)
    reasons = ((_place(matrix, *place), reason) for place, reason in matrix.reasons.items())
    return table(caption, ("identity", *matrix.labels), lines, notes=why_empty(reasons))


def _place(matrix: Matrix, identity: str, label: str) -> str:
    return identity if len(matrix.labels) == 1 else f"{identity} x {label}"


def extremes(caption: str, cells: Sequence[tuple[str, str, float]]) -> Table:
    """Return a table of selected cells of a matrix."""
    return table(
        caption,
        ("identity", "label", "value"),
        ((name, label, number(value)) for name, label, value in cells),
    )
