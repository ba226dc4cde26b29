"""Leak budget of a competition in each mode, from its settings and dates, for the organizers' pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from grader.feedback import leak_budget
from grader.feedback.leak_budget import LeakBudget, PublicRows
from grader.models import Competition
from grader.services.competitions.settings_model import CompetitionSettings
from grader.visibility import Feedback

DAY = timedelta(days=1)


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
