"""Warnings about valid settings: dates in the past or within a day, too small feedback steps."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from grader.models import Competition, CompetitionState
from grader.services.competitions import phases
from grader.services.competitions.settings_model import FOLLOWING_DATES, SETTINGS
from grader.services.competitions.settings_problems import Fault
from grader.visibility import Feedback, Phase, Step

# Recommended step, in standard errors of the difference of two typical models' scores as defined in
# `fairboard.bias.influence`. The nearest available step is used.
SAFE_STEP = 0.5
SOON = timedelta(days=1)  # long enough to catch a time entered in the wrong time zone
EFFECTS = {
    "opens_at": "the competition opens",
    "closes_at": "no more submissions are accepted",
    "entry_deadline": "no one can join any longer",
    "merger_deadline": "teams can no longer add members or merge",
    "reveals_at": "the private leaderboard is revealed automatically",
}


def warnings(competition: Competition, now: datetime) -> list[Fault]:
    """Return all warnings."""
    return [*date_warnings(competition, now), *small_step_warnings(competition)]


def date_warnings(competition: Competition, now: datetime) -> list[Fault]:
    """Return a warning for each past date that would take effect."""
    names: Collection[str] = ()
    if competition.state is CompetitionState.DRAFT:
        names = EFFECTS
    elif (phase := phases.phase(competition, now)) in (Phase.SCHEDULED, Phase.OPEN):
        names = ("entry_deadline", "merger_deadline")
    elif phase is Phase.CLOSED:
        names = ("reveals_at",)
    return _effects(competition, names, now)


def to_confirm(competition: Competition, changed: Collection[str], now: datetime) -> list[Fault]:
    """Return the effects of changed dates in the past or less than a day away, which need confirmation.

    Dates derived from a changed opening or close count if they have passed. Changes to a draft need no
    confirmation.
    """
    if competition.state is CompetitionState.DRAFT:
        return []
    derived = FOLLOWING_DATES if {"opens_at", "closes_at"}.intersection(changed) else ()
    passed = [fault for fault in date_warnings(competition, now) if fault.names[0] in derived]
    own = _effects(competition, [name for name in EFFECTS if name in changed], now + SOON)
    return [*own, *(fault for fault in passed if fault not in own)]


def _effects(competition: Competition, names: Collection[str], until: datetime) -> list[Fault]:
    """Return a fault for each of these dates that is not after `until`."""
    moments = [(name, getattr(competition, name)) for name in names]
    return [
        Fault(f"{SETTINGS[name].label}, {at:%-d %b %Y, %H:%M} UTC: {EFFECTS[name]}.", (name,))
        for name, at in moments
        if at is not None and at <= until
    ]


class StepProposal(NamedTuple):
    """A feedback step and the random difference expected between two good models on the public rows."""

    step: Step
    by_chance: float

    @property
    def sentence(self) -> str:
        """The text of the proposal with its reason."""
        return (
            f"For your solution, a step of {self.step} is recommended: two good models differ by about "
            f"{self.by_chance:.4f} by chance, and smaller steps leak labels."
        )


def proposed_step(competition: Competition) -> StepProposal | None:
    """Return the proposal for the current solution, or None if there is no solution."""
    version = competition.live_scoring_version
    return None if version is None else proposed_step_of(version.solution.report)


def proposed_step_of(report: Mapping[str, Any]) -> StepProposal | None:
    """Return the proposal for a solution's report; None if its standard error is unknown."""
    by_chance = report.get("splits", {}).get("public", {}).get("paired_error")
    if by_chance is None:
        return None
    safe_step = min(Step, key=lambda step: abs(float(step) - SAFE_STEP * by_chance))
    return StepProposal(safe_step, by_chance)


def small_step_warnings(competition: Competition) -> list[Fault]:
    """Return a warning if the feedback mode's step is smaller than the proposed one or the last decimal."""
    proposal, step = proposed_step(competition), competition.feedback_step
    unit, sentence = 10.0**-competition.scale.decimals, ""
    if competition.feedback is not Feedback.TIERED:
        return []
    if float(step) < unit:
        sentence = (
            f"A step of {step} is smaller than the last decimal of this metric's scores, so the width of a "
            f"band is {unit:g}."
        )
    elif proposal is not None and float(step) < float(proposal.step):
        sentence = f"A step of {step} is too small. {proposal.sentence}"
    return [Fault(sentence, ("feedback_step",))] if sentence else []
