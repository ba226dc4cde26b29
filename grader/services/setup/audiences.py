"""Audiences of new competitions: the first dates, entry, feedback and limits of a draft."""

import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from grader.models import EntryMode, RevealRule
from grader.services.competitions.settings_model import END_OF_DAY, SETTINGS, CompetitionSettings
from grader.visibility import Feedback


class Audience(StrEnum):
    """The audience of a new competition."""

    CLASS = "class"
    OPEN = "open"
    PRIZES = "prizes"


class Preset(NamedTuple):
    """The settings of an audience that differ from the defaults; the competition closes after `weeks`."""

    title: str
    weeks: int
    changes: Mapping[str, Any]
    note: str = ""

    @property
    def words(self) -> str:
        """The preset settings as one line."""
        settings = CompetitionSettings().changed(**self.changes)
        entry = SETTINGS["entry_mode"].choices[settings.entry_mode]
        reveal = ", revealed by an organizer" if settings.reveal_rule is RevealRule.ORGANIZER else ""
        return (
            f"Closes after {self.weeks} weeks{reveal}. Entry: {entry}{self.note}. "
            f"Feedback: {settings.feedback}. Submissions per day: {settings.max_daily_submissions}."
        )


PRESETS = {
    Audience.CLASS: Preset(
        "Class",
        6,
        {"entry_mode": EntryMode.CODE, "max_daily_submissions": 10},
        ", with accounts from a roster; names can be hidden",
    ),
    Audience.OPEN: Preset("Open competition", 13, {}),
    Audience.PRIZES: Preset(
        "Prizes",
        13,
        {
            "entry_mode": EntryMode.APPROVAL,
            "feedback": Feedback.TIERED,
            "reveal_rule": RevealRule.ORGANIZER,
            "takes_late_submissions": False,
        },
    ),
}


def settings_for(audience: Audience | None, *, title: str, now: datetime) -> CompetitionSettings:
    """Return the settings of a new draft; without an audience, the defaults."""
    settings = CompetitionSettings().changed(title=title)
    if audience is None:
        return settings
    preset = PRESETS[audience]
    if preset.changes.get("entry_mode") is EntryMode.CODE:
        settings = settings.changed(entry_code=secrets.token_hex(4))
    closes_at = datetime.combine(now.date() + timedelta(weeks=preset.weeks), END_OF_DAY)
    return settings.changed(closes_at=closes_at, **preset.changes)
