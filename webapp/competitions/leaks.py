"""The leak budget and the safe step in the API's answers for organizers."""

from typing import Annotated

from pydantic import Field

from grader.feedback.leak_budget import LeakBudget
from grader.services.competitions.settings_warnings import Proposal
from grader.services.setup.leak_budget import Leaks
from grader.visibility import Feedback, Step
from webapp.http.fields import Answer


class SafeStep(Answer):
    """The step of feedback that is proposed for the solution."""

    step: Step
    by_chance: Annotated[float, Field(description="By how much two good models differ by chance.")]


class IdentityLeak(Answer):
    """The labels of one identity that a team can infer in the configured mode."""

    name: str
    rows: Annotated[int, Field(description="Its public rows: the labels at stake.")]
    positives: int
    labels: Annotated[int, Field(description="Estimate of how many labels all files of a team read.")]
    labels_per_file: float
    ceiling: Annotated[
        int,
        Field(
            description="Upper bound on the labels that all responses together can reveal, for any attack."
        ),
    ]
    is_warned: Annotated[bool, Field(description="Whether `labels` is more than 5 % of `rows`.")]


class ModeLeak(Answer):
    """The labels that a team can infer in a mode, for the identity with the largest share."""

    feedback: Feedback
    weakest: str
    labels: int
    share: float
    ceiling_bits: Annotated[float, Field(description="How many yes-or-no questions all answers can answer.")]
    is_large: bool


class LeakBudgetAnswer(Answer):
    """How many files a team may send, and how many hidden labels it can read with them."""

    files: Annotated[int | None, Field(description="From the opening to the close; null without limits.")]
    files_from_now: int | None
    modes: Annotated[list[ModeLeak], Field(description="Empty without a solution or without limits.")]
    identities: list[IdentityLeak]


def safe_step_answer(proposal: Proposal | None) -> SafeStep | None:
    """Return a proposed step."""
    return SafeStep(step=proposal.step, by_chance=proposal.by_chance) if proposal else None


def leak_budget_answer(leaks: Leaks) -> LeakBudgetAnswer:
    """Return what a team can learn."""
    return LeakBudgetAnswer(
        files=leaks.files,
        files_from_now=leaks.files_from_now,
        modes=[_mode(each) for each in leaks.budgets.values()],
        identities=[
            IdentityLeak(
                name=each.public.name,
                rows=each.public.rows,
                positives=each.public.positives,
                labels=each.labels,
                labels_per_file=each.labels_per_file,
                ceiling=each.ceiling,
                is_warned=each.is_warned,
            )
            for each in (leaks.chosen.identities if leaks.chosen else ())
        ],
    )


def _mode(budget: LeakBudget) -> ModeLeak:
    return ModeLeak(
        feedback=budget.feedback,
        weakest=budget.weakest.public.name,
        labels=budget.weakest.labels,
        share=budget.weakest.share,
        ceiling_bits=budget.ceiling_bits,
        is_large=budget.is_large,
    )
