"""Analyses as sections of tables and charts: one content for the shell, for JSON and for a page."""

from grader.reports.analysis import Analysis, Inputs, analyse
from grader.reports.page import html_page
from grader.reports.plain import plain_text

__all__ = ["Analysis", "Inputs", "analyse", "html_page", "plain_text"]
