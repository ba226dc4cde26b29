"""Proposed feedback for each audience with its reason, and an example of what a coarse mode shows."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from grader.feedback import Basis, Rule, ScoredFile, show
from grader.feedback.basis import SKETCH_SIZE
from grader.feedback.leak_budget import LeakBudget
from grader.models import Competition
from grader.ranking.order import score_units
from grader.services.analysis import leak_budget
from grader.services.competitions import safe_step
from grader.services.competitions.settings_model import CompetitionSettings
from grader.visibility import Feedback, Step

USUAL_ERROR, LARGEST_ERROR = 0.004, 0.01
# Five files of a team: the gain over the first in standard errors, and the secret noise of each.
_EXAMPLE = ((0.0, 0.7), (0.6, -1.1), (5.0, 0.6), (4.0, -0.4), (9.0, 1.2))


class Audience(enum.StrEnum):
    """Who takes part in a competition."""

    CLASS = "class"
    ANYBODY = "anybody"
    PRIZES = "prizes"


_OPEN = "Participants see the terms and identity tables of their files, and so what to improve. "
_REASONS = {
    (Audience.CLASS, Feedback.OPEN): f"{_OPEN}People who trust each other need no protection from probing.",
    (Audience.ANYBODY, Feedback.OPEN): f"{_OPEN}The private rows decide, so labels that a team learns from "
    "the public leaderboard win nothing there.",
    (Audience.PRIZES, Feedback.TIERED): "Participants see the band of each score. That shows more progress "
    "than a ladder, and few public labels can be learned with so few files.",
    (Audience.PRIZES, Feedback.LADDER): "Participants see a score only after a clear improvement, so that "
    "probing for public labels hardly pays.",
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """The feedback for an audience; without a solution `step` is the saved one and `budget` is None."""

    audience: Audience
    feedback: Feedback
    step: Step
    budget: LeakBudget | None

    @property
    def reason(self) -> str:
        """The reason for this mode."""
        return _REASONS[self.audience, self.feedback]

    @property
    def changes(self) -> dict[str, Feedback | Step]:
        """The settings that adopt the proposal; a mode without a step leaves the step as it is."""
        found: dict[str, Feedback | Step] = {"feedback": self.feedback}
        return found | {"feedback_step": self.step} if self.feedback.has_step else found


def of(
    competition: Competition, settings: CompetitionSettings, *, now: datetime
) -> Mapping[Audience, Proposal]:
    """Return the proposal for each audience: a coarse mode with the safe step only if prizes are at stake."""
    safe = safe_step.of(competition)
    step = safe.step if safe else settings.feedback_step
    budgets = leak_budget.of(competition, settings.changed(feedback_step=step), now=now).budgets
    tiered = budgets.get(Feedback.TIERED)
    coarse = Feedback.TIERED if tiered is not None and not tiered.is_large else Feedback.LADDER
    modes = {Audience.CLASS: Feedback.OPEN, Audience.ANYBODY: Feedback.OPEN, Audience.PRIZES: coarse}
    return {audience: Proposal(audience, mode, step, budgets.get(mode)) for audience, mode in modes.items()}


def example(competition: Competition, feedback: Feedback, step: Step) -> list[tuple[int, int | None]]:
    """Return the exact score of five invented files of a team and what a coarse mode shows of each, in units.

    The files differ by the standard errors that two good models have on the competition's public rows.
    """
    safe = safe_step.of(competition)
    error = min(safe.by_chance, LARGEST_ERROR) if safe else USUAL_ERROR
    files = []
    for seed, (gain, noise) in enumerate(_EXAMPLE):
        signs = np.random.default_rng(seed).choice(np.array([-1, 1], np.float32), SKETCH_SIZE)
        basis = Basis(noise, signs * np.float32(error / (2 * SKETCH_SIZE) ** 0.5))
        files.append(ScoredFile(0.90137 + gain * error, basis))
    shown = show(files, Rule(feedback, step.units))
    return [(score_units(file.score), units) for file, units in zip(files, shown, strict=True)]
