"""Building blocks of reports: sections of tables and charts, and the formats of their values."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from fairboard.bias.analysis.table import heat

UNDEFINED = "-"
SHADES = 6
SHOWN_NAMES = 12
Format = Callable[[Any], str]


class ColumnFormat(NamedTuple):
    """The heading and the format of a column; a heading of two parts starts with that of its group.

    `cell` is the metric whose colors the column has, as in the tables of the papers.
    """

    heading: Hashable
    form: Format
    cell: str = ""

    def shade(self, value: float) -> int:
        """Return the color of a value, from -6 to 6; 0 is none."""
        return round(heat(self.cell, value) * SHADES) if self.cell and not pd.isna(value) else 0


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A data frame and the columns that a report shows, after the index. `name` is the key in JSON."""

    name: str
    caption: str
    frame: pd.DataFrame
    columns: Mapping[Any, ColumnFormat]
    notes: Sequence[str] = ()

    def lines(self) -> list[tuple[str, list[tuple[str, int]]]]:
        """Return the name of each row with its texts and shades; a dash stands for no value."""
        shown = [
            [(UNDEFINED if pd.isna(value) else form(value), column.shade(value)) for value in self.frame[key]]
            for key, column in self.columns.items()
            for form in [column.form]
        ]
        return [(str(name), [each[row] for each in shown]) for row, name in enumerate(self.frame.index)]

    def records(self) -> list[dict[str, Any]]:
        """Return the frame as JSON data, in which None stands for no value."""
        frame = self.frame.reset_index()
        names = [each if isinstance(each, tuple) else (each,) for each in frame]
        frame.columns = pd.Index([" ".join(map(str, each)).strip() for each in names])
        found: list[Any] = frame.astype(object).where(frame.notna(), None).to_dict("records")
        return found


class Chart(NamedTuple):
    """An inline SVG with a table of its data, which replaces it in plain text unless `summed_up`."""

    svg: str
    table: Table
    summed_up: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Section:
    """One part of a report: paragraphs, then blocks. `key` is its name in JSON."""

    key: str
    title: str
    texts: Sequence[str]
    blocks: Sequence[Table | Chart]

    def as_dict(self) -> dict[str, Any]:
        """Return the paragraphs and notes, and the tables by name, as JSON data."""
        tables = [each.table if isinstance(each, Chart) else each for each in self.blocks]
        notes = [*self.texts, *(note for table in tables for note in table.notes)]
        return {"notes": notes, **{table.name: table.records() for table in tables}}


def why_empty(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Return sentences that explain missing values, given pairs of a row name and a reason."""
    lines: dict[str, dict[str, None]] = {}
    for line, reason in reasons:
        lines.setdefault(reason.rstrip("."), {}).setdefault(line)
    return [f"{UNDEFINED} {reason}: {_listed(list(names))}." for reason, names in lines.items()]


def _listed(names: Sequence[str]) -> str:
    more = len(names) - SHOWN_NAMES
    return ", ".join(names[:SHOWN_NAMES]) + (f" and {more} more" if more > 0 else "")


def decimals(digits: int) -> Format:
    """Return a format with fixed decimals; a dash stands for no value."""
    # + 0.0 avoids -0
    return lambda value: UNDEFINED if pd.isna(value) else f"{round(value, digits) + 0.0:.{digits}f}"


def signed(digits: int) -> Format:
    """Return a format with a sign; 0 has none."""
    return lambda value: f"{value:+.{digits}f}" if round(value, digits) else decimals(digits)(value)


def count(value: float) -> str:
    """Format a count."""
    return f"{value:,.0f}"


def scaled(value: float) -> str:
    """Format a number of any magnitude with three digits."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.3g}".removesuffix(".")


def share(value: float) -> str:
    """Format a share as a percentage."""
    return UNDEFINED if pd.isna(value) else f"{value:.1%}"


def change(value: float) -> str:
    """Format a difference of any magnitude with three digits and a sign."""
    return f"{value:+.3g}"
