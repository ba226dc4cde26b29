"""Analysis reports: tables and charts in sections, as text, JSON or HTML."""

from grader.reports.blocks import Analysis, html_page, plain_text
from grader.reports.material import Material
from grader.reports.sections import analyse

__all__ = [
    "Analysis",
    "Material",
    "analyse",
    "html_page",
    "plain_text",
]
