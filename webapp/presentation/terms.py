"""Names and explanations of score terms and feedback modes."""

from typing import Protocol

from fairboard.interface import Exactness, TermSpec
from grader.metrics import registry
from grader.models import Competition
from grader.services.competitions import metric
from grader.visibility import Feedback

EXACTNESS = {
    Exactness.COUNTS: "Computed from counts: identical to the last bit on every machine.",
    Exactness.SUMS: "Computed from exact sums: independent of the order of the rows.",
    Exactness.OPAQUE: "Computed by a function of the organizers, which is checked twice.",
}


class ClassNames(Protocol):
    """An object with the names of a competition's classes."""

    positive_name: str
    negative_name: str


def explained(term: TermSpec, classes: ClassNames) -> str:
    """Return the explanation of a term, in the competition's own names."""
    rows = phrase(term.rows, classes)
    if not term.low:
        return "; ".join(filter(None, (rows, f"the {term.direction} value is the best")))
    return f"{rows}; low = {phrase(term.low, classes)}"


def words_of(classes: ClassNames) -> dict[str, str]:
    """Return the names of a competition's classes, as format values."""
    return {"positive": classes.positive_name, "negative": classes.negative_name}


def phrase(text: str, classes: ClassNames) -> str:
    """Return a phrase of `TermSpec` in the competition's own names."""
    return text.format(**words_of(classes))


TERMS = registry.default().terms
IDENTITY_TERMS = TERMS[1:]
NAMES = {term.name: term.short_title for term in TERMS}


def feedback_mode(competition: Competition) -> str:
    """Return an explanation of the displayed scores; empty if they are shown as they are."""
    if competition.feedback is Feedback.BLIND:
        return "This competition shows no scores before the reveal."
    if competition.feedback is not Feedback.TIERED:
        return ""
    step, table = competition.feedback_step.value, metric.of(competition).metric.group_words[0]
    return (
        f"Until the reveal, scores are shown in bands of {step}: the displayed score is the lower end of the "
        f"band. Terms, {table} tables and standard errors are hidden until the reveal."
    )


def chosen_for(competition: Competition) -> str:
    """Describe the file that fills an unused slot of the final selection, as a phrase after "your"."""
    if competition.feedback.is_coarse:
        return "submission with the best exact public score (shown after the reveal)"
    return "submission with the best public score"
