"""Leak budgets of a competition by feedback mode; recommended mode by audience."""

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
# Five example files of a team, each with its gain over the first file in standard errors and its secret
# noise.
_EXAMPLE = ((0.0, 0.7), (0.6, -1.1), (5.0, 0.6), (4.0, -0.4), (9.0, 1.2))
_OPEN = "The terms and identity tables show participants what to improve. "


@dataclass(frozen=True, slots=True)
class Leaks:
    """A team's leak budget in each feedback mode, and the number of files that it may submit.

    `files` counts all files and `files_from_now` the remaining ones; both are None if there is no limit.
    `budgets` is empty if there is no limit or no solution.
    """

    settings: CompetitionSettings
    files: int | None
    files_from_now: int | None
    budgets: Mapping[Feedback, LeakBudget]

    @property
    def chosen(self) -> LeakBudget | None:
        """The budget of the selected mode."""
        return self.budgets.get(self.settings.feedback)


def of(competition: Competition, settings: CompetitionSettings, *, now: datetime) -> Leaks:
    """Return the leak budgets of a competition under `settings`."""
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
    """Return the number of files that a team may submit from a day until the close; None if unlimited."""
    limits = [settings.max_total_submissions]
    if settings.max_daily_submissions is not None and settings.closes_at is not None:
        days = max(0, (settings.closes_at.date() - since) // DAY + 1)
        limits.append(days * settings.max_daily_submissions)
    return min((limit for limit in limits if limit is not None), default=None)


class Audience(enum.StrEnum):
    """The audiences that a competition can have."""

    CLASS = "class"
    ANYBODY = "anybody"
    PRIZES = "prizes"


_REASONS = {
    (Audience.CLASS, Feedback.OPEN): f"{_OPEN}A class that trusts its members needs no protection from "
    "probing.",
    (Audience.ANYBODY, Feedback.OPEN): f"{_OPEN}The private rows decide the final ranks, so public labels "
    "derived from the leaderboard give no advantage.",
    (Audience.PRIZES, Feedback.TIERED): "Participants see the band of each score. This shows more progress "
    "than a ladder, and the number of files is too small to derive many public labels.",
    (Audience.PRIZES, Feedback.LADDER): "Participants see a score only after a clear improvement, so "
    "probing for public labels is hardly worthwhile.",
}


@dataclass(frozen=True, slots=True)
class Proposal:
    """The recommended feedback mode for an audience.

    If there is no solution, `step` is the saved step and `budget` is None.
    """

    audience: Audience
    feedback: Feedback
    step: Step
    budget: LeakBudget | None

    @property
    def reason(self) -> str:
        """The reason for the recommended mode."""
        return _REASONS[self.audience, self.feedback]

    @property
    def changes(self) -> dict[str, Feedback | Step]:
        """The settings that apply the proposal; a mode without a step leaves the step unchanged."""
        found: dict[str, Feedback | Step] = {"feedback": self.feedback}
        return found | {"feedback_step": self.step} if self.feedback.has_step else found


def feedback_proposals(
    competition: Competition, settings: CompetitionSettings, *, now: datetime
) -> Mapping[Audience, Proposal]:
    """Return the proposals by audience; a coarse mode is proposed only for a competition with prizes."""
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
    """Return the exact and displayed scores of five example files in a coarse mode, in units.

    The scores differ by multiples of the random difference expected between two good models on the public
    rows.
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
