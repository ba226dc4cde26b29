"""API models for the leak budget and the safe step."""

from typing import Annotated

from pydantic import Field

from grader.feedback.leak_budget import LeakBudget
from grader.services.competitions.settings_warnings import Proposal
from grader.services.setup.leak_budget import Leaks
from grader.visibility import Feedback, Step
from webapp.http.fields import Answer


class SafeStep(Answer):
    """The feedback step that is proposed for the solution."""

    step: Step
    by_chance: Annotated[
        float, Field(description="The score difference between two good models that is expected by chance.")
    ]


class IdentityLeak(Answer):
    """The labels of one identity that a team can derive in the configured mode."""

    name: str
    rows: Annotated[int, Field(description="The number of public rows that mention the identity.")]
    positives: int
    labels: Annotated[int, Field(description="The estimated number of labels that a team's files reveal.")]
    labels_per_file: float
    ceiling: Annotated[
        int,
        Field(
            description="The maximum number of labels that all responses together can reveal to any attack."
        ),
    ]
    is_warned: Annotated[bool, Field(description="Whether `labels` is more than 5 % of `rows`.")]


class ModeLeak(Answer):
    """The labels that a team can derive in a mode, for the identity with the largest share."""

    feedback: Feedback
    weakest: str
    labels: int
    share: float
    ceiling_bits: Annotated[float, Field(description="The maximum information in all responses, in bits.")]
    is_large: bool


class LeakBudgetAnswer(Answer):
    """The number of files that a team may submit and of labels that it can derive from them."""

    files: Annotated[
        int | None,
        Field(
            description="The number of files that a team may submit from the opening to the "
            "close; null without limits."
        ),
    ]
    files_from_now: int | None
    modes: Annotated[
        list[ModeLeak], Field(description="The feedback modes; empty without a solution or limits.")
    ]
    identities: list[IdentityLeak]


def safe_step_answer(proposal: Proposal | None) -> SafeStep | None:
    """Return a proposed step as the API model."""
    return SafeStep(step=proposal.step, by_chance=proposal.by_chance) if proposal else None


def leak_budget_answer(leaks: Leaks) -> LeakBudgetAnswer:
    """Return the leak budget as the API model."""
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
