"""Report building blocks: sections with tables and charts, as text, JSON or HTML."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairboard.bias.analysis.table import CELLS, heat
from fairboard.bias.reports import HEADINGS as CELL_HEADINGS

SHADES = 6
HEADINGS: dict[str, str] = {"score": "Score", "overall_auc": "Overall AUC", **CELL_HEADINGS}


def heading(name: object) -> str:
    """Return the heading of a column, or the title of a value."""
    return HEADINGS.get(str(name), str(name).replace("_", " "))


def written(value: Any, digits: int = 3) -> str:
    """Return the text of a value; a dash stands for no value."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return "-"
    if not isinstance(value, float) or abs(value) >= 1000:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.001:
        return f"{value:.3g}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 avoids -0


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A data frame with a caption and, for a chart, an inline SVG; `name` is the key in JSON.

    If the axis of the columns has a name, they are labels or identities of the data, which are shown as they
    are. An earlier table sums up the values of a chart.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    digits: int = 3
    svg: str = ""

    def shown(self) -> pd.DataFrame:
        """Return the values as texts."""
        texts = self.frame.map(written, digits=self.digits)
        of_data = texts.columns.name is not None
        return texts.rename_axis(columns=None) if of_data else texts.rename(columns=heading)

    def lines(self) -> Iterator[tuple[str, list[tuple[str, int]]]]:
        """Yield the name of each row with its texts and shades from -6 to 6, as in the papers' tables."""
        rows = zip(self.frame.index, self.shown().to_numpy(), self.frame.to_numpy(), strict=True)
        for name, texts, values in rows:
            yield str(name), list(zip(texts, map(_shade, self.frame, values), strict=True))

    def records(self) -> list[dict[str, Any]]:
        """Return the frame as JSON data, in which None stands for no value."""
        frame = self.frame.rename(columns=str)
        name = str(frame.index.name or "index")
        # A label or identity of the data may be called like the index.
        frame = frame.rename_axis(f"row {name}" if name in frame else name).reset_index()
        records: list[Any] = frame.astype(object).where(frame.notna(), None).to_dict("records")
        return records


def _shade(cell: Any, value: Any) -> int:
    return round(heat(cell, value) * SHADES) if cell in CELLS and not pd.isna(value) else 0


@dataclass(frozen=True, eq=False, slots=True)
class Section:
    """One part of a report: paragraphs, then tables and charts. `key` is its name in JSON."""

    key: str
    title: str
    texts: Sequence[str]
    tables: Sequence[Table]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report: its title, facts about the data, and sections."""

    title: str
    facts: Sequence[str]
    sections: Sequence[Section]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data with the paragraphs (`notes`) and tables of each section by key."""
        sections = {
            each.key: {"notes": each.texts, **{table.name: table.records() for table in each.tables}}
            for each in self.sections
        }
        return {"title": self.title, "facts": self.facts, **sections}


def html_page(analysis: Analysis) -> str:
    """Return a report as an HTML page with inline SVG charts and light and dark color schemes.

    The file is self-contained: its content security policy allows no scripts and no other files.
    """
    from jinja2 import Environment, PackageLoader  # which texts and JSON do not need

    environment = Environment(loader=PackageLoader("grader.reports", ""), autoescape=True, trim_blocks=True)
    return environment.get_template("report.html").render(analysis=analysis)


def plain_text(analysis: Analysis) -> str:
    """Return a report as text, without its charts."""
    parts = [analysis.title, *analysis.facts]
    for section in analysis.sections:
        parts += ["", section.title, "=" * len(section.title), *section.texts]
        for table in section.tables:
            if not table.svg:
                lines = table.shown().to_string().split("\n") if len(table.frame) else []
                parts += ["", table.caption, *map(str.rstrip, lines)]
    return "\n".join(parts)
