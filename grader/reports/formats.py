"""Report formats: HTML and plain text."""

import base64
import hashlib
from importlib.resources import files

from grader.reports.blocks import Analysis


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
                parts += ["", table.caption, *map(str.rstrip, lines), *table.notes]
    return "\n".join(parts)
