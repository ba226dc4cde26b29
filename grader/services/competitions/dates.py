"""Dates of a competition: default dates, warnings about past dates, changes to confirm."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from grader.models import Competition, CompetitionState, RevealRule
from grader.services.competitions import phases
from grader.services.competitions.settings_model import DATES, SETTINGS, YEARS
from grader.services.competitions.settings_problems import Fault
from grader.visibility import Phase

WEEK = timedelta(days=7)
NAMES = ("entry_deadline", "merger_deadline", "reveals_at")
SOON = timedelta(days=1)  # also catches a time that was entered in the wrong time zone
_OF_A_DRAFT = {
    "opens_at": "the competition opens as soon as it is published",
    "closes_at": "the competition cannot be published like this",
    "entry_deadline": "nobody could join",
    "merger_deadline": "teams could neither grow nor merge",
    "reveals_at": "the private leaderboard would be revealed at the close",
}
_UNTIL_THE_CLOSE = {
    "entry_deadline": "nobody can join any more",
    "merger_deadline": "teams can neither grow nor merge any more",
}
_AFTER_THE_CLOSE = {
    "reveals_at": "the private leaderboard is revealed automatically as soon as everything is scored",
}
_SOON = {
    "opens_at": "the competition opens",
    "closes_at": "no submission is accepted from then on",
    "entry_deadline": "nobody can join from then on",
    "merger_deadline": "teams can neither grow nor merge from then on",
    "reveals_at": "the private leaderboard is revealed automatically",
}


def default_dates(competition: Competition) -> dict[str, datetime]:
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


def fill_in_dates(competition: Competition) -> None:
    """Give a competition the dates that nobody chose, once they follow from the close."""
    for name, moment in default_dates(competition).items():
        is_chosen = getattr(competition, name) is not None
        if not is_chosen and (name != "reveals_at" or competition.reveal_rule is RevealRule.DATE):
            setattr(competition, name, moment)


def warnings(
    competition: Competition, now: datetime, *, entered: Mapping[str, datetime | None] = MappingProxyType({})
) -> list[Fault]:
    """Return a sentence for each date of a competition in the past that has an effect.

    `entered` are dates that are about to be saved in place of the stored ones.
    """
    return list(_found(competition, now, _effects(competition, now), entered))


def warnings_of_change(competition: Competition, changed: Collection[str], now: datetime) -> list[Fault]:
    """Return the warnings that a change brought: of the dates in it, and of those that follow the close."""
    names = set(changed) & set(DATES)
    if names & {"opens_at", "closes_at"}:
        names |= set(NAMES)
    effects = {"opens_at": "the competition is open now"} | dict(_effects(competition, now))
    return [fault for fault in _found(competition, now, effects, {}) if set(fault.names) & names]


def to_confirm(competition: Competition, changed: Collection[str], now: datetime) -> list[Fault]:
    """Return the effects of changed dates in the past or within a day; a draft needs no confirmation."""
    if competition.state is CompetitionState.DRAFT:
        return []
    found = warnings_of_change(competition, changed, now)
    for name, effect in _SOON.items():
        moment = getattr(competition, name)
        if name in changed and moment is not None and now < moment <= now + SOON:
            when = f"less than a day away ({moment:%Y-%m-%d %H:%M} UTC)"
            found.append(Fault(f"The {SETTINGS[name].words} is {when}: {effect}.", (name,)))
    return found


def _effects(competition: Competition, now: datetime) -> Mapping[str, str]:
    if competition.state is CompetitionState.DRAFT:
        return _OF_A_DRAFT
    match phases.phase(competition, now):
        case Phase.SCHEDULED | Phase.OPEN:
            return _UNTIL_THE_CLOSE
        case Phase.CLOSED:
            return _AFTER_THE_CLOSE
        case _:
            return {}


def _found(
    competition: Competition,
    now: datetime,
    effects: Mapping[str, str],
    entered: Mapping[str, datetime | None],
) -> Iterator[Fault]:
    for name, effect in effects.items():
        moment = entered.get(name, getattr(competition, name))
        if moment is not None and moment <= now:
            yield Fault(
                f"The {SETTINGS[name].words} is in the past ({moment:%Y-%m-%d %H:%M} UTC): {effect}.",
                (name,),
            )
