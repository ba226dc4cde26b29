"""Dates that follow from the close where nobody chose them: entry, mergers, reveal."""

from datetime import datetime, timedelta

from grader.models import Competition, RevealRule
from grader.services.competitions.settings_model import YEARS

WEEK = timedelta(days=7)
NAMES = ("entry_deadline", "merger_deadline", "reveals_at")


def usual_dates(competition: Competition) -> dict[str, datetime]:
    """Return the dates that follow from the close, by name; none before opening and close are known.

    Entry and mergers end 7 days before the close; in a competition that lasts no longer than that they end
    with it. The private leaderboard is revealed 7 days after the close.
    """
    opens_at, closes_at = competition.opens_at, competition.closes_at
    if opens_at is None or closes_at is None or closes_at.year not in YEARS:
        return {}
    week_before = closes_at - WEEK
    deadline = week_before if week_before > opens_at else closes_at
    return {"entry_deadline": deadline, "merger_deadline": deadline, "reveals_at": closes_at + WEEK}


def fill_in(competition: Competition) -> None:
    """Give a competition the dates that nobody chose, once they follow from the close."""
    for name, moment in usual_dates(competition).items():
        is_chosen = getattr(competition, name) is not None
        if not is_chosen and (name != "reveals_at" or competition.reveal_rule is RevealRule.DATE):
            setattr(competition, name, moment)
