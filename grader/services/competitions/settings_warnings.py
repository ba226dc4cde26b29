"""Warnings about valid settings: dates past or less than a day away, joined names, unknown groups, steps."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from fairboard.bias.expected_error import paired_standard_error
from grader.models import Competition, CompetitionState
from grader.services.competitions import metric, phases
from grader.services.competitions.settings_model import (
    FOLLOWING_DATES,
    SETTINGS,
)
from grader.services.competitions.settings_problems import Fault, joined_names_hint
from grader.visibility import Phase, Step

# Recommended step, in standard errors of the difference of two typical models' scores as defined in
# `fairboard.bias.expected_error`. The nearest available step is used.
SAFE_STEP = 0.5
SOON = timedelta(days=1)  # long enough to catch a time entered in the wrong time zone
_OF_A_DRAFT = {
    "opens_at": "the competition opens as soon as it is published",
    "closes_at": "the competition cannot be published",
    "entry_deadline": "no one could join",
    "merger_deadline": "teams could neither add members nor merge",
    "reveals_at": "the private leaderboard would be revealed at the close",
}
_BEFORE_THE_CLOSE = {
    "entry_deadline": "no one can join any longer",
    "merger_deadline": "teams can no longer add members or merge",
    "division_deadline": "teams can no longer choose their division",
}
_AFTER_THE_CLOSE = {
    "reveals_at": "the private leaderboard is revealed automatically once all submissions are scored",
}
_SOON = {
    "opens_at": "the competition opens",
    "closes_at": "no submissions are accepted after that",
    "entry_deadline": "no one can join after that",
    "merger_deadline": "teams can neither add members nor merge after that",
    "division_deadline": "teams cannot choose their division after that",
    "reveals_at": "the private leaderboard is revealed automatically",
}


def warnings(competition: Competition, now: datetime) -> list[Fault]:
    """Return all warnings."""
    return [
        *date_warnings(competition, now),
        *joined_names_warnings(competition),
        *small_step_warnings(competition),
    ]


def date_warnings(competition: Competition, now: datetime) -> list[Fault]:
    """Return a warning for each past date that would take effect."""
    effects: Mapping[str, str] = {}
    if competition.state is CompetitionState.DRAFT:
        effects = _OF_A_DRAFT
    elif (phase := phases.phase(competition, now)) in (Phase.SCHEDULED, Phase.OPEN):
        effects = _BEFORE_THE_CLOSE
    elif phase is Phase.CLOSED:
        effects = _AFTER_THE_CLOSE
    return list(_past(competition, now, effects))


def to_confirm(competition: Competition, changed: Collection[str], now: datetime) -> list[Fault]:
    """Return the effects of changed dates in the past or less than a day away, which need confirmation.

    Dates derived from a changed close count as changed. Changes to a draft need no confirmation.
    """
    if competition.state is CompetitionState.DRAFT:
        return []
    names = set(changed)
    if names & {"opens_at", "closes_at"}:
        names |= set(FOLLOWING_DATES)
    opening = _past(competition, now, {"opens_at": "the competition is open now"})
    found = [each for each in (*opening, *date_warnings(competition, now)) if set(each.names) & names]
    for name, effect in _SOON.items():
        moment = getattr(competition, name)
        if name in changed and moment is not None and now < moment <= now + SOON:
            when = f"less than a day away ({moment:%Y-%m-%d %H:%M} UTC)"
            found.append(Fault(f"The {SETTINGS[name].words} is {when}: {effect}.", (name,)))
    return found


def _past(competition: Competition, now: datetime, effects: Mapping[str, str]) -> Iterator[Fault]:
    for name, effect in effects.items():
        moment = getattr(competition, name)
        if moment is not None and moment <= now:
            yield Fault(
                f"The {SETTINGS[name].words} is in the past ({moment:%Y-%m-%d %H:%M} UTC): {effect}.",
                (name,),
            )


def joined_names_warnings(competition: Competition) -> list[Fault]:
    """Return a warning for each identity with commas that is not a column of the solution."""
    version = competition.live_scoring_version
    known = () if version is None else [line["name"] for line in version.solution.report["identities"]]
    return [
        Fault(f"{name!r} is read as the name of one column. {joined_names_hint(name)}", ("identities",))
        for name in metric.of(competition).identities or ()
        if joined_names_hint(name) and name not in known
    ]


@dataclass(frozen=True, slots=True)
class StepProposal:
    """A feedback step and the random difference expected between two good models on the public rows."""

    step: Step
    by_chance: float

    @property
    def sentence(self) -> str:
        """The text of the proposal with its reason."""
        return (
            f"For your solution, a step of {self.step} is recommended: two good models differ by about "
            f"{self.by_chance:.4f} by chance."
        )


def proposed_step(competition: Competition) -> StepProposal | None:
    """Return the proposal for the current solution, or None if there is no solution."""
    version = competition.live_scoring_version
    return None if version is None else proposed_step_of(version.solution.report)


def proposed_step_of(report: Mapping[str, Any]) -> StepProposal | None:
    """Return the proposal for a solution's report; None if its standard error is unknown."""
    error = report.get("splits", {}).get("public", {}).get("score_error")
    if error is None:
        return None
    by_chance = paired_standard_error(error)
    safe_step = min(Step, key=lambda step: abs(float(step) - SAFE_STEP * by_chance))
    return StepProposal(safe_step, by_chance)


def small_step_warnings(competition: Competition) -> list[Fault]:
    """Return a warning if the feedback mode's step is smaller than the proposed one."""
    proposal, step = proposed_step(competition), competition.feedback_step
    unit = 10.0**-competition.scale.decimals
    if competition.feedback.has_step and float(step) < unit:
        sentence = (
            f"A step of {step} is smaller than the last decimal of this metric's scores, so the width of a "
            f"band is {unit:g}."
        )
        return [Fault(sentence, ("feedback_step",))]
    if proposal is None or not competition.feedback.has_step or float(step) >= float(proposal.step):
        return []
    sentence = (
        f"A step of {step} is too small for this solution: two good models differ by about "
        f"{proposal.by_chance:.4f} by chance. A small step shows random differences and leaks labels. The "
        f"recommended step is {proposal.step}."
    )
    return [Fault(sentence, ("feedback_step",))]
