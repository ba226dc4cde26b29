"""A report as text, for the shell."""

from collections.abc import Iterator

from grader.reports.analysis import Analysis
from grader.reports.blocks import Chart, Table

GAP = "  "


def plain_text(analysis: Analysis) -> str:
    """Return a report as text; a chart is its table."""
    parts = [analysis.title, *analysis.facts]
    for section in analysis.sections:
        parts += ["", section.title, "=" * len(section.title), *section.texts]
        for block in section.blocks:
            parts += ["", *_lines(block.table if isinstance(block, Chart) else block)]
    return "\n".join(parts)


def _lines(table: Table) -> Iterator[str]:
    texts = [list(table.head), *([cell.text for cell in line] for line in table.lines)]
    widths = [max(len(line[place]) for line in texts) for place in range(len(table.head))]
    yield table.caption
    for line in texts:
        first, *others = line
        cells = [first.ljust(widths[0])] + [
            text.rjust(width) for text, width in zip(others, widths[1:], strict=True)
        ]
        yield GAP.join(cells).rstrip()
