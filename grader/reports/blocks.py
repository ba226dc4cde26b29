"""What a report consists of: sections, and in them texts, tables and charts with the same numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from grader.metrics.analysis.matrix import Matrix
from grader.metrics.analysis.table import heat
from grader.metrics.subgroups import Cell as MetricCell

UNDEFINED = "-"
SHADES = 6


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
    """A table; the first cell of a line is its head."""

    caption: str
    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """An inline SVG, and the table of what it shows."""

    svg: str
    table: Table


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


def table(caption: str, head: Iterable[str], lines: Iterable[Iterable[Cell | str]]) -> Table:
    """Return a table of cells or plain texts."""
    cells = (tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in line) for line in lines)
    return Table(caption, tuple(head), tuple(cells))


def number(value: float | None, digits: int = 3) -> str:
    """Return a number, or a dash where there is none."""
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def signed(value: float | None, digits: int = 3) -> str:
    """Return a number with its sign, or a dash."""
    return UNDEFINED if value is None else f"{value:+.{digits}f}"


def share(value: float | None) -> str:
    """Return a share as per cent, or a dash."""
    return UNDEFINED if value is None else f"{value:.1%}"


def metric(cell: MetricCell, value: float | None, digits: int = 2, title: str = "") -> Cell:
    """Return a metric's value in the colours of the papers' tables."""
    place = heat(cell, value)
    return Cell(number(value, digits), 0 if place is None else round(place * SHADES), title)


def matrix_table(caption: str, matrix: Matrix, *, metric_cell: MetricCell | None = None) -> Table:
    """Return identities x labels; a cell that cannot be computed says why."""
    lines = []
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
    return table(caption, ("identity", *matrix.labels), lines)


def extremes(caption: str, cells: Sequence[tuple[str, str, float]]) -> Table:
    """Return the table of some cells of a matrix."""
    return table(
        caption,
        ("identity", "label", "value"),
        ((name, label, number(value)) for name, label, value in cells),
    )
