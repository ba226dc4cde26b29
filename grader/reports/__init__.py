"""Analysis reports: tables and charts in sections, as text, JSON or HTML."""

from grader.reports.analysis import Material, analyse
from grader.reports.blocks import Analysis, html_page, plain_text

__all__ = [
    "Analysis",
    "Material",
    "analyse",
    "html_page",
    "plain_text",
]
