"""The step of feedback that is safe for a solution, and a warning where the chosen one is smaller."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from grader.feedback.ladder import safe_step
from grader.metrics.expected_error import paired_standard_error
from grader.models import Competition
from grader.services.competitions.settings_problems import Fault
from grader.visibility import Step


@dataclass(frozen=True, slots=True)
class Proposal:
    """A step, and by how much two good models differ by chance on the public rows."""

    step: Step
    by_chance: float

    @property
    def sentence(self) -> str:
        """The proposal with its reason."""
        return (
            f"For your solution we propose the step {self.step}: two good models differ by chance by about "
            f"{self.by_chance:.4f}."
        )


def of(competition: Competition) -> Proposal | None:
    """Return what is proposed for the solution in use; None without one."""
    version = competition.live_scoring_version
    return None if version is None else of_report(version.solution.report)


def of_report(report: Mapping[str, Any]) -> Proposal | None:
    """Return what is proposed for a solution with this report; None where its error is not known."""
    error = report.get("splits", {}).get("public", {}).get("score_error")
    if error is None:
        return None
    by_chance = paired_standard_error(error, report["assumed"]["correlation"])
    return Proposal(safe_step(by_chance), by_chance)


def warnings(competition: Competition) -> list[Fault]:
    """Return a sentence if the mode has a step and it is smaller than the proposed one."""
    proposal, step = of(competition), competition.feedback_step
    if proposal is None or not competition.feedback.has_step or float(step) >= float(proposal.step):
        return []
    sentence = (
        f"The step {step} is small for this solution: two good models differ by chance by about "
        f"{proposal.by_chance:.4f}. A smaller step shows luck and leaks labels. We propose {proposal.step}."
    )
    return [Fault(sentence, ("feedback_step",))]
