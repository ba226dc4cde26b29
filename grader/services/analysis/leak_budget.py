"""Leak budget of a competition, computed from its settings and dates for the organizers' pages."""

from datetime import datetime, timedelta

from grader.models import Competition
from grader.ranking import leak_budget
from grader.ranking.leak_budget import LeakBudget, PublicSubgroup
from grader.services.competitions.settings_model import CompetitionSettings

DAY = timedelta(days=1)


def of(competition: Competition, settings: CompetitionSettings, *, now: datetime) -> LeakBudget | None:
    """Return what a team can learn under `settings`; None before there is a solution, or without limits."""
    version = competition.live_scoring_version
    files = files_of_a_team(settings, now=now)
    if version is None or files is None:
        return None
    subgroups = [
        PublicSubgroup(line["name"], public["positives"], public["positives"] + public["negatives"])
        for line in version.solution.report["identities"]
        if line["in_score"] and (public := line["public"])["positives"]
    ]
    weights = settings.metric.weights
    weight = max(weights.subgroup_auc, weights.bpsn_auc, weights.bnsp_auc)
    if not subgroups:
        return None
    return leak_budget.budget(subgroups, files=files, power=settings.metric.power, weight=weight)


def files_of_a_team(settings: CompetitionSettings, *, now: datetime) -> int | None:
    """Return how many files a team may send from the opening to the close; None where nothing limits it."""
    limits = [settings.max_total_submissions]
    if settings.max_daily_submissions is not None and settings.closes_at is not None:
        first_day = (settings.opens_at or now).date()
        days = max(1, (settings.closes_at.date() - first_day) // DAY + 1)
        limits.append(days * settings.max_daily_submissions)
    return min((limit for limit in limits if limit is not None), default=None)
