"""Leak check for data files: detection of columns that disclose the solution."""

from grader.disclosure.findings import ORDER, Disclosure, Examined, Hidden, TargetKind, Unopened

__all__ = ["ORDER", "Disclosure", "Examined", "Hidden", "TargetKind", "Unopened"]
