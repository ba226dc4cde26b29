"""Report formats: HTML and plain text."""

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from importlib.resources import files

from grader.reports.analysis import Analysis
from grader.reports.blocks import Cell, Chart, Section, Table, is_wide

GAP = "  "


def html_page(analysis: Analysis) -> str:
    """Return a report as an HTML page with inline SVG charts and light and dark color schemes.

    Returns
    -------
    str
        A self-contained file. Its content security policy allows only its own style sheet, by hash.
    """
    style = files("grader.reports").joinpath("report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'"
    links = "".join(
        f'<li><a href="#{section.key}">{escape(section.title)}</a></li>' for section in analysis.sections
    )
    facts = "".join(f"<p>{escape(fact)}.</p>" for fact in analysis.facts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(analysis.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f"<header><h1>{escape(analysis.title)}</h1>{facts}</header>\n<nav><ul>{links}</ul></nav>\n<main>\n"
        f"{''.join(_section(section) for section in analysis.sections)}</main>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    texts = "".join(f"<p>{escape(text)}</p>" for text in section.texts)
    title, blocks = escape(section.title), "".join(_blocks(section))
    return f'<section id="{section.key}"><h2>{title}</h2>{texts}{blocks}</section>\n'


def _blocks(section: Section) -> Iterator[str]:
    charts: list[Chart] = []
    for block in section.blocks:
        if isinstance(block, Chart):
            charts.append(block)
            continue
        yield from _charts(charts)
        charts = []
        yield _table(block)
    yield from _charts(charts)


def _charts(charts: list[Chart]) -> Iterator[str]:
    if charts:
        figures = "".join(
            f"<figure><figcaption>{escape(chart.table.caption)}</figcaption>{chart.svg}"
            f"<details><summary>As a table</summary>{_table(chart.table)}</details></figure>"
            for chart in charts
        )
        yield f'<div class="charts">{figures}</div>'


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.head)
    groups = "".join(
        f'<th scope="colgroup" colspan="{span}">{escape(name)}</th>'
        if name
        else f'<td colspan="{span}"></td>'
        for name, span in table.groups
    )
    above = f"<tr><td></td>{groups}</tr>" if groups else ""
    lines = "".join(
        f'<tr><th scope="row">{escape(line[0].text)}</th>{"".join(_cell(cell) for cell in line[1:])}</tr>'
        for line in table.lines
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    scrolls = f' tabindex="0" role="region" aria-label="{escape(table.caption)}"' if is_wide(table) else ""
    return (
        f'<div class="wide"{scrolls}><table>'
        f"<caption>{escape(table.caption)}</caption><thead>{above}<tr>{head}</tr></thead>"
        f"<tbody>{lines}</tbody></table></div>{notes}"
    )


def _cell(cell: Cell) -> str:
    shade = f' class="{"warm" if cell.shade > 0 else "cool"}{abs(cell.shade)}"' if cell.shade else ""
    title = f' title="{escape(cell.title)}"' if cell.title else ""
    return f"<td{shade}{title}>{escape(cell.text)}</td>"


def plain_text(analysis: Analysis) -> str:
    """Return a report as text; charts that no preceding table sums up are replaced with tables."""
    parts = [analysis.title, *analysis.facts]
    for section in analysis.sections:
        parts += ["", section.title, "=" * len(section.title), *section.texts]
        for block in section.blocks:
            if isinstance(block, Table):
                parts += ["", *_lines(block)]
            elif not block.is_summed_up:
                parts += ["", *_lines(block.table)]
    return "\n".join(parts)


def _lines(table: Table) -> Iterator[str]:
    texts = [list(table.head), *([cell.text for cell in line] for line in table.lines)]
    widths = [max(len(line[place]) for line in texts) for place in range(len(table.head))]
    yield table.caption
    if table.groups:
        yield _groups(table, widths)
    for line in texts:
        first, *others = line
        cells = [first.ljust(widths[0])] + [
            text.rjust(width) for text, width in zip(others, widths[1:], strict=True)
        ]
        yield GAP.join(cells).rstrip()
    yield from table.notes


def _groups(table: Table, widths: list[int]) -> str:
    """Return the line of group headings, each aligned with its first column."""
    parts, place = [" " * widths[0]], 1
    for name, span in table.groups:
        width = sum(widths[place : place + span]) + len(GAP) * (span - 1)
        parts.append(name[:width].ljust(width))
        place += span
    return GAP.join(parts).rstrip()
