"""Names and explanations of score terms and feedback modes."""

from dataclasses import dataclass
from typing import Protocol

from fairboard.interface import Description, Direction, Exactness
from grader.metrics import registry
from grader.models import Competition
from grader.services.competitions import metric
from grader.visibility import Feedback, Step

_SHOWN = {
    Feedback.TIERED: "Until the reveal, scores are shown in bands of {step}: the displayed score is the "
    "lower end of the band.",
    Feedback.BLIND: "This competition shows no scores before the reveal.",
}
_HIDDEN = "Terms, {tables} tables and standard errors are hidden until the reveal."

EXACTNESS = {
    Exactness.COUNTS: "Computed from counts: identical to the last bit on every machine.",
    Exactness.SUMS: "Computed from exact sums: independent of the order of the rows.",
    Exactness.OPAQUE: "Computed by a function of the organizers, which is checked twice.",
}


class ClassNames(Protocol):
    """An object with the names of a competition's classes and rows."""

    positive_name: str
    negative_name: str
    row_name: str


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the score, with the phrases of `TermSpec`."""

    key: str
    name: str
    rows: str
    low: str
    fault: str
    direction: Direction = Direction.HIGHEST
    weight: float | None = None
    is_over_groups: bool = False

    def rows_of(self, classes: ClassNames) -> str:
        """Return the compared rows, in the competition's own names."""
        return phrase(self.rows, classes)

    def low_of(self, classes: ClassNames) -> str:
        """Return the meaning of a low value, in the competition's own names."""
        return phrase(self.low, classes)

    def explained(self, classes: ClassNames) -> str:
        """Return the explanation below a column heading."""
        if not self.low:
            return "; ".join(filter(None, (self.rows_of(classes), f"the {self.direction} value is the best")))
        return f"{self.rows_of(classes)}; low = {self.low_of(classes)}"


def words_of(classes: ClassNames) -> dict[str, str]:
    """Return the names of a competition's classes and rows, as format values."""
    return {
        "positive": classes.positive_name,
        "negative": classes.negative_name,
        "rows": classes.row_name or "rows",
    }


def phrase(text: str, classes: ClassNames) -> str:
    """Return a phrase of `TermSpec` in the competition's own names."""
    return text.format(**words_of(classes))


def terms_of(about: Description) -> tuple[Term, ...]:
    """Return the terms of a metric."""
    return tuple(
        Term(
            each.name,
            each.heading or each.title,
            each.rows,
            each.low,
            each.fault,
            each.direction,
            each.weight,
            each.is_over_groups,
        )
        for each in about.terms
    )


TERMS = terms_of(registry.default())
IDENTITY_TERMS = TERMS[1:]
NAMES = {term.key: term.name for term in TERMS}


def feedback_mode(competition: Competition) -> str:
    """Return an explanation of the displayed scores; empty if they are shown as they are."""
    shown = note(competition.feedback, competition.feedback_step)
    table = metric.of(competition).metric.group_words[0]
    return f"{shown} {_HIDDEN.format(tables=table)}" if competition.feedback.has_step else shown


def note(feedback: Feedback, step: Step) -> str:
    """Return the explanation for a feedback mode and a step."""
    return _SHOWN.get(feedback, "").format(step=step.value)


def chosen_for(competition: Competition) -> str:
    """Describe the file that fills an unused slot of the final selection, as a phrase after "your"."""
    if competition.feedback.is_coarse:
        return "submission with the best exact public score (shown after the reveal)"
    return "submission with the best public score"
