"""Write a report as plain text, for the shell."""

from collections.abc import Iterator

from grader.reports.analysis import Analysis
from grader.reports.blocks import Table

GAP = "  "


def plain_text(analysis: Analysis) -> str:
    """Return a report as text; a chart is its table, where none before it says the same."""
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
    """Return the names above the columns, each at the beginning of its own."""
    parts, place = [" " * widths[0]], 1
    for name, span in table.groups:
        width = sum(widths[place : place + span]) + len(GAP) * (span - 1)
        parts.append(name[:width].ljust(width))
        place += span
    return GAP.join(parts).rstrip()
