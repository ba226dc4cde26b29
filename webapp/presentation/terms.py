"""Names and explanations of the four terms of the score: overall AUC, Subgroup, BPSN, BNSP."""

from dataclasses import dataclass
from typing import Protocol


class Classes(Protocol):
    """An object with the names of a competition's two classes, and of its rows where they have one."""

    positive_name: str
    negative_name: str
    row_name: str


@dataclass(frozen=True, slots=True)
class Term:
    """One term: its key in JSON, its name on pages, the rows it compares, what a low value means."""

    key: str
    name: str
    rows: str
    low: str

    def rows_of(self, classes: Classes) -> str:
        """Return the compared rows in a competition's words for its two classes."""
        return _in_words_of(classes, self.rows)

    def low_of(self, classes: Classes) -> str:
        """Return what a low value means in a competition's words for its two classes."""
        return _in_words_of(classes, self.low)

    def explained(self, classes: Classes) -> str:
        """Return what a heading says below its name."""
        return f"{self.rows_of(classes)}; low = {self.low_of(classes)}"


def words_of(classes: Classes) -> dict[str, str]:
    """Return what a competition calls its classes and its rows."""
    return {
        "positive": classes.positive_name,
        "negative": classes.negative_name,
        "rows": classes.row_name or "rows",
    }


def _in_words_of(classes: Classes, text: str) -> str:
    return text.format(**words_of(classes))


TERMS = (
    Term(
        "overall_auc",
        "Overall",
        "all {positive} {rows} against all {negative} {rows}",
        "it mixes up the two in general",
    ),
    Term(
        "subgroup_auc",
        "Subgroup",
        "{positive} against {negative} among {rows} that mention the identity",
        "it cannot separate the two there",
    ),
    Term(
        "bpsn_auc",
        "BPSN",
        "{negative} {rows} that mention the identity against {positive} {rows} that do not",
        "false alarms",
    ),
    Term(
        "bnsp_auc",
        "BNSP",
        "{positive} {rows} that mention the identity against {negative} {rows} that do not",
        "{positive} {rows} are missed",
    ),
)
IDENTITY_TERMS = TERMS[1:]
NAMES = {term.key: term.name for term in TERMS}
