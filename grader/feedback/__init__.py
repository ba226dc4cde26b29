"""What a competition shows of public scores before the reveal: all of them, bands, a ladder, noise, nothing.

`show` is the whole rule: from a team's files in the order of their acceptance to what is shown of each.
"""

from grader.feedback.basis import Basis, basis_of, paired_error
from grader.feedback.showing import Rule, ScoredFile, show

__all__ = ["Basis", "Rule", "ScoredFile", "basis_of", "paired_error", "show"]
