"""The conditions under which people take part in a competition: rules, entry, deadlines and limits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.models import Competition, CompetitionState, EntryMode, RevealRule
from grader.services import audit, settings_changes
from grader.services.audit import Actor
from grader.services.texts import one_line

WEEK = timedelta(days=7)
ENTRY_CODE_MAX_LENGTH = 64
MAX_COUNT = 1_000_000
YEARS = range(2000, 3000)  # a week more or less stays within what dates can say


class InvalidCompetition(OrganizerError):
    """A competition cannot be made like this; `problems` has one sentence each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


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
_COUNTS = {
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


def problems(conditions: Conditions, *, opens_at: datetime, closes_at: datetime | None) -> list[str]:
    """Return one sentence for everything that is wrong with the conditions."""
    found = [*_entry_problems(conditions), *_date_problems(conditions, opens_at, closes_at)]
    found += calendar_problems(
        {
            "close": closes_at,
            "entry deadline": conditions.entry_deadline,
            "merger deadline": conditions.merger_deadline,
            "reveal": conditions.reveals_at,
        }
    )
    for name, words in _COUNTS.items():
        value = getattr(conditions, name)
        if value is not None:
            found += count_problems(words, value)
    return found


def count_problems(words: str, value: int) -> list[str]:
    """Return the sentence about a number that is too small or too large to mean anything."""
    if value < 1:
        return [f"The {words} must be at least 1; {value} was given."]
    return [f"The {words} must be at most {MAX_COUNT:,}."] if value > MAX_COUNT else []


def calendar_problems(moments: Mapping[str, datetime | None]) -> list[str]:
    """Return one sentence for every date, by its words, at which nobody will be there."""
    return [
        f"The {words} must lie in the years {YEARS.start} to {YEARS.stop - 1}; {moment.year} was given."
        for words, moment in moments.items()
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


def change(
    session: Session,
    *,
    competition: Competition,
    closes_at: datetime | None = None,
    actor: Actor,
    reason: str = "",
    now: datetime,
    **changes: Any,
) -> None:
    """Change conditions of a locked competition, or its close; raise InvalidCompetition.

    Dates that followed from the close follow it. People must accept changed rules before their next upload.
    """
    is_over = competition.revealed_at or (competition.closes_at and now >= competition.closes_at)
    if closes_at is not None and (is_over or closes_at <= now):
        wrong = "The competition is over" if is_over else "The close must lie ahead"
        raise InvalidCompetition([f"{wrong}; the close cannot be moved to {closes_at:%Y-%m-%d %H:%M} UTC."])
    opens_at = competition.opens_at or competition.created_at
    new_close = closes_at or competition.closes_at
    changed = replace(of(competition), **(_moved_dates(competition, opens_at, closes_at) | changes))
    if changed.entry_mode is not EntryMode.CODE:
        changed = replace(changed, entry_code=changes.get("entry_code"))
    found = problems(changed, opens_at=opens_at, closes_at=new_close)
    if found:
        raise InvalidCompetition(found)
    before = _shown(competition)
    apply(changed, competition)
    competition.closes_at = new_close
    session.flush()
    _record(session, competition, before, actor=actor, reason=reason, now=now)


def of(competition: Competition) -> Conditions:
    """Return the conditions of a competition."""
    return Conditions(**{name: getattr(competition, name) for name in NAMES})


def _shown(competition: Competition) -> SimpleNamespace:
    return SimpleNamespace(**{name: getattr(competition, name) for name in (*NAMES, "closes_at")})


def _record(session: Session, competition: Competition, before: SimpleNamespace, **what: Any) -> None:
    after = _shown(competition)
    changed = {name for name, value in vars(after).items() if getattr(before, name) != value}
    if not changed:
        return
    is_draft = competition.state is CompetitionState.DRAFT
    audit.record(
        session,
        competition=competition,
        action="competition.change",
        subject="conditions",
        before=settings_changes.as_json(before, changed),
        after=settings_changes.as_json(after, changed),
        public_text=""
        if is_draft
        else settings_changes.public_text(before, after, changed, competition.rules_version),
        **what,
    )


def _moved_dates(
    competition: Competition, opens_at: datetime, closes_at: datetime | None
) -> dict[str, datetime | None]:
    """Return the dates that nobody chose, by the new close."""
    if closes_at is None:
        return {}
    before = with_dates(Conditions(), opens_at=opens_at, closes_at=competition.closes_at)
    after = with_dates(Conditions(), opens_at=opens_at, closes_at=closes_at)
    return {
        name: getattr(after, name)
        for name in ("entry_deadline", "merger_deadline", "reveals_at")
        if getattr(competition, name) == getattr(before, name)
    }


def _entry_problems(conditions: Conditions) -> Iterable[str]:
    code = _clean_code(conditions.entry_code)
    if conditions.entry_mode is EntryMode.CODE and not code:
        yield "Entry by code needs a code."
    if conditions.entry_mode is not EntryMode.CODE and code:
        yield f"A code is for entry by code; the entry mode is {conditions.entry_mode.value}."


def _date_problems(conditions: Conditions, opens_at: datetime, closes_at: datetime | None) -> Iterable[str]:
    for words, deadline in (("entry", conditions.entry_deadline), ("merger", conditions.merger_deadline)):
        if deadline is not None and deadline <= opens_at:
            yield f"The {words} deadline must come after the opening."
        if deadline is not None and closes_at is not None and deadline > closes_at:
            yield f"The {words} deadline cannot come after the close."
    if conditions.reveals_at is not None:
        if conditions.reveal_rule is RevealRule.ORGANIZER:
            yield "There is a date for the reveal only where the private leaderboard is revealed by date."
        elif closes_at is None:
            yield "A date for the reveal needs a closing time."
        elif conditions.reveals_at < closes_at:
            yield "The private leaderboard cannot be revealed before the close."


def _is_in_calendar(moment: datetime) -> bool:
    return moment.year in YEARS


def _week_after(conditions: Conditions, closes_at: datetime) -> datetime | None:
    return closes_at + WEEK if conditions.reveal_rule is RevealRule.DATE else None


def _clean_code(code: str | None) -> str | None:
    return one_line(code or "", ENTRY_CODE_MAX_LENGTH) or None
