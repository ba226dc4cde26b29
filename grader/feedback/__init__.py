"""Feedback modes: rules for the scores that teams see before the reveal.

The function `show` implements all modes. It maps a team's files, in the order in which they were accepted, to
the scores that are shown for them.
"""

from grader.feedback.basis import Basis, ScoredFile, basis_of, paired_error
from grader.feedback.ladder import SAFE_STEP, Ladder
from grader.feedback.showing import Rule, show

__all__ = ["SAFE_STEP", "Basis", "Ladder", "Rule", "ScoredFile", "basis_of", "paired_error", "show"]
