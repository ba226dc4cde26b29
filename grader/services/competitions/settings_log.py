"""Settings changes in words: which setting changed from what to what, for the audit and public log."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from grader.metrics import MetricSettings
from grader.models import RevealRule
from grader.services.competitions.settings_model import KINDS, SETTINGS, Kind


def as_json(settings: Any, names: Collection[str]) -> dict[str, Any]:
    """Return some settings as the audit takes them, by name."""
    return {name: _plain(getattr(settings, name)) for name in sorted(names)}


def public_text(before: Any, after: Any, changed: Collection[str], rules_version: int) -> str:
    """Return what everybody reads about a change: deadlines, limits and rules; "" if none changed."""
    return " ".join(_sentences(before, after, changed, rules_version))


def _sentences(before: Any, after: Any, changed: Collection[str], version: int) -> Iterable[str]:
    for name, setting in SETTINGS.items():
        if setting.public and name in changed:
            shown = _date if KINDS[name] is Kind.DATE else _limit
            new, old = shown(getattr(after, name)), shown(getattr(before, name))
            yield f"The {setting.public} is {new}; it was {old}."
    if "rules" in changed:
        yield f"The rules changed; they are version {version} now."
    if "reveal_rule" in changed:
        is_by_date = after.reveal_rule is RevealRule.DATE
        yield f"The private leaderboard is revealed {'at a date' if is_by_date else 'by the organizers'}."
    if "takes_late_submissions" in changed:
        yield f"Late submissions are {'' if after.takes_late_submissions else 'not '}taken after the reveal."
    if "entry_mode" in changed:
        yield f"Entry is {after.entry_mode.value} now; it was {before.entry_mode.value}."
    if _feedback(after) != _feedback(before):
        yield f"Feedback is {_feedback(after)} now; it was {_feedback(before)}."


def _feedback(settings: Any) -> str:
    step = f" in steps of {settings.feedback_step.value}" if settings.feedback.has_step else ""
    return f"{settings.feedback.value}{step}"


def _plain(value: Any) -> Any:
    return value.as_dict() if isinstance(value, MetricSettings) else value


def _date(moment: datetime | None) -> str:
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC" if moment else "not set"


def _limit(number: int | None) -> str:
    return "none" if number is None else f"{number:,}"
