"""Names and explanations of the score's terms and of the feedback modes."""

from dataclasses import dataclass
from typing import Protocol

from grader.models import Competition
from grader.visibility import Feedback, Step

_SHOWN = {
    Feedback.TIERED: "Until the reveal scores are shown in bands of {step}: "
    "each by the lower end of its band.",
    Feedback.LADDER: "Until the reveal a score is shown only when the file is clearly better than the team's "
    "best so far. It contains secret noise, which can be several steps large, and is rounded to {step}.",
    Feedback.NOISED: "Until the reveal scores are shown with secret noise of about {step}, "
    "which is always the same for the same file.",
    Feedback.BLIND: "This competition shows no scores before the reveal.",
}
_HIDDEN = "Terms, identity tables and standard errors are hidden until the reveal."


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


def feedback_mode(competition: Competition) -> str:
    """Return what everybody should know of the scores that they see; empty where it is the score itself."""
    shown = note(competition.feedback, competition.feedback_step)
    return f"{shown} {_HIDDEN}" if competition.feedback.has_step else shown


def note(feedback: Feedback, step: Step) -> str:
    """Return the same for a mode and a step."""
    return _SHOWN.get(feedback, "").format(step=step.value)


def why_unshown(competition: Competition) -> str:
    """Return why a scored file shows no score to its team before the reveal."""
    if competition.feedback is Feedback.LADDER:
        return (
            "Scored, and no new best: the file is not clearly better than the team's best so far. Its score "
            "is shown after the reveal."
        )
    return "Scored. Its score is shown after the reveal."


def unshown(feedback: Feedback) -> str:
    """Return the same in a list, in the place of the score."""
    return "no new best" if feedback is Feedback.LADDER else "not shown"


def chosen_for(competition: Competition) -> str:
    """Return what fills a place of the final selection that a team leaves free, in words after "your"."""
    if competition.feedback.is_coarse:
        return "best exact public score (shown after the reveal)"
    return "best public score"
