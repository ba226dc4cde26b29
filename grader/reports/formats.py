"""Report formats: HTML and plain text."""

import base64
import hashlib
from collections.abc import Iterator
from importlib.resources import files
from itertools import groupby

from grader.reports.analysis import Analysis
from grader.reports.blocks import Chart, Table

GAP = "  "
NARROW_COLUMNS = 6
NARROW_LINE = 40  # characters, which fit on a phone


def html_page(analysis: Analysis) -> str:
    """Return a report as an HTML page with inline SVG charts and light and dark color schemes.

    Returns
    -------
    str
        A self-contained file. Its content security policy allows only its own style sheet, by hash.
    """
    from jinja2 import Environment  # which texts and JSON do not need

    folder = files("grader.reports")
    style, page = (folder.joinpath(name).read_text("utf-8") for name in ("report.css", "report.html"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    tools = {"is_wide": _is_wide, "groups": _groups, "heads": _heads, "runs": _runs}
    template = Environment(autoescape=True, trim_blocks=True).from_string(page)
    return template.render(analysis=analysis, style=style, policy=policy, **tools)


def _runs(blocks: list[Table | Chart]) -> list[tuple[bool, list[Table | Chart]]]:
    """Return consecutive charts and consecutive tables together."""
    runs = groupby(blocks, key=lambda block: isinstance(block, Chart))
    return [(are_charts, list(together)) for are_charts, together in runs]


def _is_wide(table: Table) -> bool:
    """Return whether a table may need scrolling and must therefore be focusable."""
    lengths = (len(name) + sum(len(text) for text, _ in cells) for name, cells in table.lines())
    return len(table.columns) >= NARROW_COLUMNS or max(lengths, default=0) > NARROW_LINE


def _heads(table: Table) -> list[str]:
    parts = [column.heading for column in table.columns.values()]
    texts = [each[1] if isinstance(each, tuple) else str(each) for each in parts]
    return [str(table.frame.index.name or ""), *texts]


def _groups(table: Table) -> list[tuple[str, int]]:
    """Return the headings of groups with the number of columns that each spans."""
    names = [each[0] for column in table.columns.values() if isinstance(each := column.heading, tuple)]
    return [(name, len(list(each))) for name, each in groupby(names)]


def plain_text(analysis: Analysis) -> str:
    """Return a report as text; charts that no preceding table sums up are replaced with tables."""
    parts = [analysis.title, *analysis.facts]
    for section in analysis.sections:
        parts += ["", section.title, "=" * len(section.title), *section.texts]
        for block in section.blocks:
            if isinstance(block, Table) or not block.summed_up:
                parts += ["", *_lines(block if isinstance(block, Table) else block.table)]
    return "\n".join(parts)


def _lines(table: Table) -> Iterator[str]:
    texts = [_heads(table), *([name, *(text for text, _ in cells)] for name, cells in table.lines())]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    yield table.caption
    if groups := _groups(table):
        parts, place = [" " * widths[0]], 1
        for name, span in groups:
            width = sum(widths[place : place + span]) + len(GAP) * (span - 1)
            parts.append(name[:width].ljust(width))
            place += span
        yield GAP.join(parts).rstrip()
    for first, *others in texts:
        yield GAP.join([first.ljust(widths[0]), *map(str.rjust, others, widths[1:])]).rstrip()
    yield from table.notes
