"""Analysis reports: tables and charts in sections, as text, JSON or HTML."""

from grader.reports.analysis import Analysis, Material, analyse
from grader.reports.bakeoff import bakeoff_report, measure_candidates
from grader.reports.formats import html_page, plain_text

__all__ = [
    "Analysis",
    "Material",
    "analyse",
    "bakeoff_report",
    "html_page",
    "measure_candidates",
    "plain_text",
]
