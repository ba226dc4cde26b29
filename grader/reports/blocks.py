"""Building blocks of a report: section, text, table and chart."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.metrics.analysis.matrix import Matrix
from grader.metrics.analysis.table import heat
from grader.metrics.subgroups import Cell as MetricCell

UNDEFINED = "-"
SHADES = 6
SHOWN_NAMES = 12
NARROW_COLUMNS = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes
    ----------
    text : str
    shade : int
        From -6 to 6, 0 for none: how strongly it is coloured, below 0 in the other colour.
    title : str
        Why there is no value, or what else is to be said of it.
    """

    text: str
    shade: int = 0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; the first cell of a line is its head.

    Attributes
    ----------
    caption : str
    head : tuple of str
    lines : tuple of tuple of Cell
    groups : tuple of (str, int)
        What stands above the columns after the first, and over how many each reaches; usually nothing.
    notes : tuple of str
        Sentences below it, such as why cells are empty.
    """

    caption: str
    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    groups: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """An inline SVG, and the table of what it shows.

    Attributes
    ----------
    svg : str
    table : Table
    is_summed_up : bool
        Whether a table before it says enough where no chart can be drawn.
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
        Its name in JSON and its place in a page.
    title : str
    texts : tuple of str
        Paragraphs before the blocks.
    blocks : tuple of Table or Chart
    data : JSON-ready
        The same in full precision.
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
    """Return a table of cells or plain texts."""
    cells = (tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in line) for line in lines)
    return Table(caption, tuple(head), tuple(cells), tuple(groups), tuple(notes))


def is_wide(table: Table) -> bool:
    """Return whether a table may need scrolling, and so must be reachable by keyboard."""
    return len(table.head) > NARROW_COLUMNS


def why_empty(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Return sentences that say why cells have no value, from the line of each and its reason."""
    lines: dict[str, dict[str, None]] = {}
    for line, reason in reasons:
        lines.setdefault(reason.rstrip("."), {}).setdefault(line)
    return [f"{UNDEFINED} {reason}: {listed(list(names))}." for reason, names in lines.items()]


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def number(value: float | None, digits: int = 3) -> str:
    """Return a number, or a dash where there is none."""
    return UNDEFINED if value is None else f"{round(value, digits) + 0.0:.{digits}f}"  # never -0


def scaled(value: float | None) -> str:
    """Return a number of whatever scale, as predictions are, to three digits, or a dash."""
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".removesuffix(".")


def signed(value: float | None, digits: int = 3) -> str:
    """Return a number with its sign, 0 without one, or a dash."""
    rounded = None if value is None else round(value, digits)
    return f"{rounded:+.{digits}f}" if rounded else number(rounded, digits)


def share(value: float | None) -> str:
    """Return a share as per cent, or a dash."""
    return UNDEFINED if value is None else f"{value:.1%}"


def metric(cell: MetricCell, value: float | None, digits: int = 2, title: str = "") -> Cell:
    """Return a metric's value in the colours of the papers' tables."""
    place = heat(cell, value)
    return Cell(number(value, digits), 0 if place is None else round(place * SHADES), title)


def matrix_table(
    caption: str,
    matrix: Matrix,
    *,
    metric_cell: MetricCell | None = None,
    overall_aucs: Mapping[str, float | None] | None = None,
) -> Table:
    """Return identities x labels, headed by the overall AUCs where they are given."""
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
    """Return the table of some cells of a matrix."""
    return table(
        caption,
        ("identity", "label", "value"),
        ((name, label, number(value)) for name, label, value in cells),
    )
