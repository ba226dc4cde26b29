"""Settings changes in words: which setting changed from what to what, for the audit and public log."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from grader.metrics import MetricSettings
from grader.models import RevealRule
from grader.services.competitions.conditions import DATE_WORDS

_TOLD_LIMITS = {
    "max_team_size": "largest size of a team",
    "max_daily_submissions": "limit of submissions a day",
    "max_total_submissions": "limit of submissions in all",
    "max_pending_submissions": "limit of submissions that wait at once",
    "max_hourly_rejections": "limit of rejected files an hour",
    "selection_count": "number of selected submissions",
}


def as_json(settings: Any, names: Collection[str]) -> dict[str, Any]:
    """Return some settings as the audit takes them, by name."""
    return {name: _plain(getattr(settings, name)) for name in sorted(names)}


def public_text(before: Any, after: Any, changed: Collection[str], rules_version: int) -> str:
    """Return what everybody reads about a change: deadlines, limits and rules; "" if none changed."""
    return " ".join(_sentences(before, after, changed, rules_version))


def _sentences(before: Any, after: Any, changed: Collection[str], version: int) -> Iterable[str]:
    for name, words in DATE_WORDS.items():
        if name in changed:
            yield f"The {words} is {_date(getattr(after, name))}; it was {_date(getattr(before, name))}."
    for name, words in _TOLD_LIMITS.items():
        if name in changed:
            yield f"The {words} is {_limit(getattr(after, name))}; it was {_limit(getattr(before, name))}."
    if "rules" in changed:
        yield f"The rules changed; they are version {version} now."
    if "reveal_rule" in changed:
        is_by_date = after.reveal_rule is RevealRule.DATE
        yield f"The private leaderboard is revealed {'at a date' if is_by_date else 'by the organizers'}."
    if "takes_late_submissions" in changed:
        yield f"Late submissions are {'' if after.takes_late_submissions else 'not '}taken after the reveal."
    if "entry_mode" in changed:
        yield f"Entry is {after.entry_mode.value} now; it was {before.entry_mode.value}."


def _plain(value: Any) -> Any:
    return value.as_dict() if isinstance(value, MetricSettings) else value


def _date(moment: datetime | None) -> str:
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC" if moment else "not set"


def _limit(number: int | None) -> str:
    return "none" if number is None else f"{number:,}"
