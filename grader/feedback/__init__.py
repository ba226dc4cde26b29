"""Modes of feedback before the reveal: exact scores, bands, a ladder, noise, nothing.

`show` is the whole rule: from a team's files in the order of their acceptance to what is shown of each.
"""

from grader.feedback.basis import Basis, ScoredFile, basis_of, paired_error
from grader.feedback.ladder import SAFE_STEP, Ladder
from grader.feedback.showing import Rule, show

__all__ = ["SAFE_STEP", "Basis", "Ladder", "Rule", "ScoredFile", "basis_of", "paired_error", "show"]
