"""Report building blocks: sections with tables and charts, as text, JSON or HTML."""

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from fairboard.bias.analysis.table import CELLS, heat

SHADES = 6
HEADINGS: dict[str, str] = {
    "size": "count",
    "share_positive": "positive",
    "score": "Score",
    "overall_auc": "Overall AUC",
    "subgroup_auc": "Subgroup AUC",
    "bpsn_auc": "BPSN AUC",
    "bnsp_auc": "BNSP AUC",
    "negative_aeg": "Negative AEG",
    "positive_aeg": "Positive AEG",
}


def heading(name: object) -> str:
    """Return the heading of a column, or the title of a value."""
    return HEADINGS.get(str(name), str(name).replace("_", " "))


def parts_of(name: Any) -> tuple[Any, ...]:
    """Return the levels of a column's name; the last one determines the format of its values."""
    return name if isinstance(name, tuple) else (name,)


def written(name: object, value: Any, digits: int = 3) -> str:
    """Return the text of a value: shares in percent, counts, numbers; a dash stands for no value."""
    if isinstance(value, str):
        return value
    if pd.isna(value):
        return "-"
    if "share" in str(name) or name == "rate":
        return f"{value:.1%}"
    if not isinstance(value, float) or abs(value) >= 1000:
        return f"{value:,.0f}"
    if 0 < abs(value) < 0.001 and name not in CELLS:
        return f"{value:.3g}"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 avoids -0


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """A data frame with a caption and, for a chart, an inline SVG; `name` is the key in JSON.

    Columns are formatted by their names. A chart whose values an earlier table has is not part of texts.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    digits: int = 3
    svg: str = ""
    in_text: bool = True

    def shown(self) -> pd.DataFrame:
        """Return the values as texts."""
        texts = {
            number: [written(parts_of(name)[-1], each, self.digits) for each in self.frame.iloc[:, number]]
            for number, name in enumerate(self.frame)
        }
        shown = pd.DataFrame(texts, self.frame.index).set_axis(self.frame.columns, axis=1)
        return shown.rename(columns=heading)

    def lines(self) -> Iterator[tuple[str, list[tuple[str, int]]]]:
        """Yield the name of each row with its texts and shades from -6 to 6, as in the papers' tables."""
        cells = [parts_of(name)[-1] for name in self.frame]
        rows = zip(self.frame.index, self.shown().to_numpy(), self.frame.to_numpy(), strict=True)
        for name, texts, values in rows:
            shades = [
                round(heat(cell, value) * SHADES) if cell in CELLS and not pd.isna(value) else 0
                for cell, value in zip(cells, values, strict=True)
            ]
            yield str(name), list(zip(texts, shades, strict=True))

    def heads(self) -> list[str]:
        """Return the headings of the index and of the columns."""
        return [
            str(self.frame.index.name or ""),
            *(" ".join(parts_of(name)).strip() for name in self.shown()),
        ]

    def records(self) -> list[dict[str, Any]]:
        """Return the frame as JSON data, in which None stands for no value."""
        frame = self.frame.reset_index()
        frame.columns = pd.Index([" ".join(map(str, parts_of(name))).strip() for name in frame])
        found: list[Any] = frame.astype(object).where(frame.notna(), None).to_dict("records")
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Section:
    """One part of a report: paragraphs, then tables and charts. `key` is its name in JSON."""

    key: str
    title: str
    texts: Sequence[str]
    tables: Sequence[Table]

    def as_dict(self) -> dict[str, Any]:
        """Return the paragraphs as `notes`, and the tables by name, as JSON data."""
        return {"notes": list(self.texts), **{table.name: table.records() for table in self.tables}}


@dataclass(frozen=True, slots=True)
class Analysis:
    """A report: its title, facts about the data, and sections."""

    title: str
    facts: Sequence[str]
    sections: Sequence[Section]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data with the sections by key."""
        sections = {section.key: section.as_dict() for section in self.sections}
        return {"title": self.title, "facts": self.facts, **sections}


def html_page(analysis: Analysis) -> str:
    """Return a report as an HTML page with inline SVG charts and light and dark color schemes.

    The file is self-contained. Its content security policy allows only its own style sheet, by hash.
    """
    from jinja2 import Environment  # which texts and JSON do not need

    folder = files("grader.reports")
    style, page = (folder.joinpath(name).read_text("utf-8") for name in ("report.css", "report.html"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    template = Environment(autoescape=True, trim_blocks=True).from_string(page)
    return template.render(analysis=analysis, style=style, policy=policy)


def plain_text(analysis: Analysis) -> str:
    """Return a report as text; only charts that no earlier table sums up are replaced with tables."""
    parts = [analysis.title, *analysis.facts]
    for section in analysis.sections:
        parts += ["", section.title, "=" * len(section.title), *section.texts]
        for table in section.tables:
            if table.in_text:
                lines = table.shown().to_string().split("\n") if len(table.frame) else []
                parts += ["", table.caption, *map(str.rstrip, lines)]
    return "\n".join(parts)
