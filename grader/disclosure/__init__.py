"""Leak check for data files: detection of columns that disclose the solution."""

from grader.disclosure.examination import Disclosure, Examined, examine
from grader.disclosure.hidden import Hidden, Kind, Target
from grader.disclosure.layers import Unopened
from grader.disclosure.source import NotReadNow

__all__ = ["Disclosure", "Examined", "Hidden", "Kind", "NotReadNow", "Target", "Unopened", "examine"]
