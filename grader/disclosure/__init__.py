"""Leak check for data files: detection of columns that disclose the solution."""

from grader.disclosure.examination import Disclosure, Examined, examine
from grader.disclosure.files import Unopened
from grader.disclosure.hidden import Hidden, HiddenValues, Target, TargetKind

__all__ = ["Disclosure", "Examined", "Hidden", "HiddenValues", "Target", "TargetKind", "Unopened", "examine"]
