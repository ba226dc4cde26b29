"""Deadlines, limits, team size, entry: defaults of a new competition, and validation (dates in order)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from grader.errors import OrganizerError
from grader.models import Competition, EntryMode, RevealRule
from grader.text.plain import one_line

WEEK = timedelta(days=7)
ENTRY_CODE_MAX_LENGTH = 64
MAX_COUNT = 1_000_000
YEARS = range(2000, 3000)  # a week more or less stays within what dates can say


class InvalidCompetition(OrganizerError):
    """A competition cannot be made like this; `problems` has one sentence each."""

    public_name = "invalid_competition"

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Fault(NamedTuple):
    """What is wrong with settings, in a sentence, and the names of the settings that it is about."""

    sentence: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of one competition; the fields are the columns of that name.

    A limit of None is none. Deadlines and the date of the reveal that are None follow from the closing time,
    see `with_dates`; where an organizer reveals there is no date.
    """

    rules: str = ""
    entry_mode: EntryMode = EntryMode.OPEN
    entry_code: str | None = None
    entry_deadline: datetime | None = None
    merger_deadline: datetime | None = None
    max_team_size: int = 5
    max_daily_submissions: int | None = 5
    max_total_submissions: int | None = None
    max_pending_submissions: int = 5
    max_hourly_rejections: int = 30
    selection_count: int = 2
    takes_late_submissions: bool = True
    reveal_rule: RevealRule = RevealRule.DATE
    reveals_at: datetime | None = None


NAMES = tuple(field.name for field in fields(Conditions))
DATES = ("entry_deadline", "merger_deadline", "reveals_at")
DATE_WORDS = {
    "opens_at": "opening",
    "closes_at": "close",
    "entry_deadline": "entry deadline",
    "merger_deadline": "merger deadline",
    "reveals_at": "date of the reveal",
}
COUNT_WORDS = {
    "max_team_size": "team size",
    "max_daily_submissions": "daily limit",
    "max_total_submissions": "total limit",
    "max_pending_submissions": "limit of pending submissions",
    "max_hourly_rejections": "hourly limit of rejected files",
    "selection_count": "number of selected submissions",
}


def with_dates(conditions: Conditions, *, opens_at: datetime, closes_at: datetime | None) -> Conditions:
    """Return the conditions with the dates that nobody gave.

    Entry and mergers end 7 days before the close; in a competition that lasts no longer than that they end
    with it. The private leaderboard is revealed 7 days after the close, unless an organizer reveals it.
    """
    if closes_at is None or not _is_in_calendar(closes_at):
        return conditions
    week_before = closes_at - WEEK
    deadline = week_before if week_before > opens_at else closes_at
    return replace(
        conditions,
        entry_deadline=conditions.entry_deadline or deadline,
        merger_deadline=conditions.merger_deadline or deadline,
        reveals_at=conditions.reveals_at or _week_after(conditions, closes_at),
    )


def problems(conditions: Conditions, *, opens_at: datetime, closes_at: datetime | None) -> list[Fault]:
    """Return everything that is wrong with the conditions."""
    found = [*_entry_problems(conditions), *_date_problems(conditions, opens_at, closes_at)]
    moments = {name: getattr(conditions, name) for name in DATES}
    found += calendar_problems({"closes_at": closes_at} | moments)
    for name, words in COUNT_WORDS.items():
        found += count_problems(name, words, getattr(conditions, name))
    return found


def count_problems(name: str, words: str, value: int | None) -> list[Fault]:
    """Return what is wrong with a number that is too small or too large to mean anything."""
    if value is not None and value < 1:
        return [Fault(f"The {words} must be at least 1; {value} was given.", (name,))]
    if value is not None and value > MAX_COUNT:
        return [Fault(f"The {words} must be at most {MAX_COUNT:,}.", (name,))]
    return []


def calendar_problems(moments: Mapping[str, datetime | None]) -> list[Fault]:
    """Return the dates, by the settings' names, at which nobody will be there."""
    return [
        Fault(
            f"The {DATE_WORDS[name]} must be in the years {YEARS.start} to {YEARS.stop - 1}; "
            f"{moment.year} was given.",
            (name,),
        )
        for name, moment in moments.items()
        if moment is not None and not _is_in_calendar(moment)
    ]


def apply(conditions: Conditions, competition: Competition) -> None:
    """Give a competition its conditions; other rules than before are the next version of them."""
    rules = conditions.rules.replace("\0", "").strip()
    if competition.rules is not None and competition.rules != rules:
        competition.rules_version += 1
    for name in NAMES:
        setattr(competition, name, getattr(conditions, name))
    competition.rules = rules
    competition.entry_code = _clean_code(conditions.entry_code)


def of(competition: Competition) -> Conditions:
    """Return the conditions of a competition."""
    return Conditions(**{name: getattr(competition, name) for name in NAMES})


def _entry_problems(conditions: Conditions) -> Iterable[Fault]:
    code, names = _clean_code(conditions.entry_code), ("entry_mode", "entry_code")
    if conditions.entry_mode is EntryMode.CODE and not code:
        yield Fault("Entry by code needs a code.", names)
    if conditions.entry_mode is not EntryMode.CODE and code:
        yield Fault(f"A code is for entry by code; the entry mode is {conditions.entry_mode.value}.", names)


def _date_problems(conditions: Conditions, opens_at: datetime, closes_at: datetime | None) -> Iterable[Fault]:
    for name in ("entry_deadline", "merger_deadline"):
        deadline, words = getattr(conditions, name), DATE_WORDS[name]
        if deadline is not None and deadline <= opens_at:
            yield Fault(f"The {words} must come after the opening.", (name, "opens_at"))
        if deadline is not None and closes_at is not None and deadline > closes_at:
            yield Fault(f"The {words} cannot come after the close.", (name, "closes_at"))
    if conditions.reveals_at is None:
        return
    if conditions.reveal_rule is RevealRule.ORGANIZER:
        yield Fault(
            "There is a date for the reveal only where the private leaderboard is revealed by date.",
            ("reveals_at", "reveal_rule"),
        )
    elif closes_at is None:
        yield Fault("A date for the reveal needs a closing time.", ("reveals_at", "closes_at"))
    elif conditions.reveals_at < closes_at:
        yield Fault(
            "The private leaderboard cannot be revealed before the close.", ("reveals_at", "closes_at")
        )


def _is_in_calendar(moment: datetime) -> bool:
    return moment.year in YEARS


def _week_after(conditions: Conditions, closes_at: datetime) -> datetime | None:
    return closes_at + WEEK if conditions.reveal_rule is RevealRule.DATE else None


def _clean_code(code: str | None) -> str | None:
    return one_line(code or "", ENTRY_CODE_MAX_LENGTH) or None
