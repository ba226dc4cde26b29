"""What a competition shows of its scores before the reveal, in the words of its pages and its API."""

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


def of(competition: Competition) -> str:
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
