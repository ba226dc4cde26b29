"""The four terms of the score: their names and what they tell, in the same words everywhere."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its key in JSON, its name on pages, the rows it compares, what a low value means."""

    key: str
    name: str
    rows: str
    low: str

    def rows_of(self, positive: str, negative: str) -> str:
        """Return the compared rows in a competition's words for its two classes."""
        names = {"harmful": positive, "harmless": negative}
        return re.sub("harmful|harmless", lambda word: names[word[0]], self.rows)

    @property
    def explanation(self) -> str:
        """Return what a heading says below its name."""
        return f"{self.rows}; low = {self.low}"


TERMS = (
    Term("overall_auc", "Overall", "all harmful rows against all harmless rows", "harm is missed in general"),
    Term(
        "subgroup_auc",
        "Subgroup",
        "harmful against harmless among rows that mention the identity",
        "the two look alike there",
    ),
    Term(
        "bpsn_auc",
        "BPSN",
        "harmless rows that mention the identity against harmful rows that do not",
        "false alarms",
    ),
    Term(
        "bnsp_auc",
        "BNSP",
        "harmful rows that mention the identity against harmless rows that do not",
        "missed harm",
    ),
)
IDENTITY_TERMS = TERMS[1:]
NAMES = {term.key: term.name for term in TERMS}
