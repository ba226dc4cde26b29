"""Leak budget of a competition in each feedback mode, and proposed feedback for each audience."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np

from grader.feedback import Basis, Rule, ScoredFile, leak_budget, show
from grader.feedback.basis import SKETCH_SIZE
from grader.feedback.leak_budget import LeakBudget, PublicRows
from grader.models import Competition
from grader.ranking.order import score_units
from grader.services.competitions import settings_warnings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.visibility import Feedback, Step

DAY = timedelta(days=1)
USUAL_ERROR, LARGEST_ERROR = 0.004, 0.01
# Five files of a team: the gain over the first in standard errors, and the secret noise of each.
_EXAMPLE = ((0.0, 0.7), (0.6, -1.1), (5.0, 0.6), (4.0, -0.4), (9.0, 1.2))
_OPEN = "Participants see the terms and identity tables of their files, and so what to improve. "


@dataclass(frozen=True, slots=True)
class Leaks:
    """What a team can learn: the files that it may send in all and from now on, and each mode's budget.

    Without limits, or a close, `files` and `files_from_now` are None. Without a solution, or files that can
    be counted, `budgets` is empty.
    """

    settings: CompetitionSettings
    files: int | None
    files_from_now: int | None
    budgets: Mapping[Feedback, LeakBudget]

    @property
    def chosen(self) -> LeakBudget | None:
        """The budget of the mode that is set."""
        return self.budgets.get(self.settings.feedback)


def of(competition: Competition, settings: CompetitionSettings, *, now: datetime) -> Leaks:
    """Return what a team can learn under `settings`."""
    opens = (settings.opens_at or now).date()
    files = _files(settings, since=opens)
    version = competition.live_scoring_version
    report = version.solution.report if version is not None else {}
    return Leaks(
        settings=settings,
        files=files,
        files_from_now=_files(settings, since=max(opens, now.date())),
        budgets={} if files is None else _budgets(report, settings, files),
    )


def _budgets(
    report: Mapping[str, Any], settings: CompetitionSettings, files: int
) -> dict[Feedback, LeakBudget]:
    identities = [
        _public(line["name"], line["public"]) for line in report.get("identities", ()) if line["in_score"]
    ]
    known = [each for each in identities if each.rarer]
    if not known:
        return {}
    split = report["splits"]["public"]
    everyone = PublicRows("all public rows", split["positives"], split["rows"])
    return {
        feedback: leak_budget.budget(
            known,
            everyone=everyone,
            settings=settings.metric,
            feedback=feedback,
            step=settings.feedback_step,
            files=files,
        )
        for feedback in Feedback
    }


def _public(name: str, counts: Mapping[str, int]) -> PublicRows:
    return PublicRows(name, counts["positives"], counts["positives"] + counts["negatives"])


def _files(settings: CompetitionSettings, *, since: date) -> int | None:
    """Return how many files a team may send from a day to the close; None where nothing limits it."""
    limits = [settings.max_total_submissions]
    if settings.max_daily_submissions is not None and settings.closes_at is not None:
        days = max(0, (settings.closes_at.date() - since) // DAY + 1)
        limits.append(days * settings.max_daily_submissions)
    return min((limit for limit in limits if limit is not None), default=None)


class Audience(enum.StrEnum):
    """Who takes part in a competition."""

    CLASS = "class"
    ANYBODY = "anybody"
    PRIZES = "prizes"


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


def feedback_proposals(
    competition: Competition, settings: CompetitionSettings, *, now: datetime
) -> Mapping[Audience, Proposal]:
    """Return the proposal for each audience: a coarse mode with the safe step only if prizes are at stake."""
    safe = settings_warnings.proposed_step(competition)
    step = safe.step if safe else settings.feedback_step
    budgets = of(competition, settings.changed(feedback_step=step), now=now).budgets
    tiered = budgets.get(Feedback.TIERED)
    coarse = Feedback.TIERED if tiered is not None and not tiered.is_large else Feedback.LADDER
    modes = {Audience.CLASS: Feedback.OPEN, Audience.ANYBODY: Feedback.OPEN, Audience.PRIZES: coarse}
    return {audience: Proposal(audience, mode, step, budgets.get(mode)) for audience, mode in modes.items()}


def feedback_example(
    competition: Competition, feedback: Feedback, step: Step
) -> list[tuple[int, int | None]]:
    """Return the exact score of five invented files of a team and what a coarse mode shows of each, in units.

    The files differ by the standard errors that two good models have on the competition's public rows.
    """
    safe = settings_warnings.proposed_step(competition)
    error = min(safe.by_chance, LARGEST_ERROR) if safe else USUAL_ERROR
    files = []
    for seed, (gain, noise) in enumerate(_EXAMPLE):
        signs = np.random.default_rng(seed).choice(np.array([-1, 1], np.float32), SKETCH_SIZE)
        basis = Basis(noise, signs * np.float32(error / (2 * SKETCH_SIZE) ** 0.5))
        files.append(ScoredFile(0.90137 + gain * error, basis))
    shown = show(files, Rule(feedback, step.units))
    return [(score_units(file.score), units) for file, units in zip(files, shown, strict=True)]
