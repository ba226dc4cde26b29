"""Problems of settings: single values, order of dates, conflicts."""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import ValidationError

from grader.errors import OrganizerError, SeveralProblems
from grader.models import EntryMode, RevealRule
from grader.services.competitions.settings_model import SETTINGS, YEARS, CompetitionSettings

# What the model finds, by its kind of error; everything else says its sentences itself.
_SENTENCES: dict[str, Callable[[Any, dict[str, Any]], str]] = {
    "greater_than_equal": lambda value, limit: f"must be at least {limit['ge']}; {value} was given.",
    "less_than_equal": lambda _, limit: f"must be at most {limit['le']:,}.",
    "string_too_long": lambda _, limit: f"has at most {limit['max_length']:,} characters.",
    "year": lambda moment, _: (
        f"must lie in the years {YEARS.start} to {YEARS.stop - 1}; {moment.year} was given."
    ),
}


class InvalidCompetition(SeveralProblems, OrganizerError):
    """Settings that a competition cannot have."""

    public_name = "invalid_competition"


class Fault(NamedTuple):
    """A problem of settings in a sentence, and the names of these settings."""

    sentence: str
    names: tuple[str, ...]

    def as_problem(self) -> dict[str, Any]:
        """Return the fault as an item of `problems` in an error."""
        return {"fields": list(self.names), "message": self.sentence}


def problems(settings: CompetitionSettings, *, is_draft: bool) -> list[Fault]:
    """Return all problems of settings; a draft may lack its dates."""
    found = [*_value_problems(settings), *_class_problems(settings), *_entry_problems(settings)]
    if settings.opens_at is None and not is_draft:
        found.append(Fault("A published competition needs a time at which it opens.", ("opens_at",)))
    return [*found, *_order_problems(settings), *_reveal_problems(settings)]


def sentences(faults: Iterable[Fault], *, unread: Collection[str] = ()) -> list[str]:
    """Return the sentences of faults, except those about unreadable settings."""
    return [fault.sentence for fault in faults if not set(fault.names) & set(unread)]


def _value_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    try:
        CompetitionSettings.model_validate(dict(settings))
    except ValidationError as error:
        for each in error.errors(include_url=False):
            name, context = str(each["loc"][0]), each.get("ctx", {})
            if each["type"] in _SENTENCES:
                told = _SENTENCES[each["type"]](each["input"], context)
                yield Fault(f"The {SETTINGS[name].words} {told}", (name,))
            else:
                for sentence in str(context.get("error", f"{name}: {each['msg']}.")).splitlines():
                    yield Fault(sentence, (name,))


def _class_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    positive, negative = settings.positive_name, settings.negative_name
    classes = ("positive_name", "negative_name")
    if not (positive and negative):
        yield Fault("Both classes need a name.", classes)
    elif positive.casefold() == negative.casefold():
        yield Fault(f"The two classes need different names; both are {positive!r}.", classes)


def _entry_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    mode, names = settings.entry_mode, ("entry_mode", "entry_code")
    if mode is EntryMode.CODE and not settings.entry_code:
        yield Fault("Entry by code needs a code.", names)
    if mode is not EntryMode.CODE and settings.entry_code:
        yield Fault(f"A code is for entry by code; the entry mode is {mode.value}.", names)


def _order_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    opens_at, closes_at = settings.opens_at, settings.closes_at
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        yield Fault("A competition must close after it opens.", ("closes_at", "opens_at"))
    earliest = opens_at or datetime.min.replace(tzinfo=UTC)  # nothing lies before an opening nobody knows
    for name in ("entry_deadline", "merger_deadline"):
        deadline, words = getattr(settings, name), SETTINGS[name].words
        if deadline is not None and deadline <= earliest:
            yield Fault(f"The {words} must come after the opening.", (name, "opens_at"))
        if deadline is not None and closes_at is not None and deadline > closes_at:
            yield Fault(f"The {words} cannot come after the close.", (name, "closes_at"))


def _reveal_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    if settings.reveals_at is None:
        return
    if settings.reveal_rule is RevealRule.ORGANIZER:
        yield Fault(
            "There is a date for the reveal only where the private leaderboard is revealed by date.",
            ("reveals_at", "reveal_rule"),
        )
    elif settings.closes_at is None:
        yield Fault("A date for the reveal needs a closing time.", ("reveals_at", "closes_at"))
    elif settings.reveals_at < settings.closes_at:
        yield Fault(
            "The private leaderboard cannot be revealed before the close.", ("reveals_at", "closes_at")
        )


def joined_names_hint(name: str) -> str:
    """Return a hint for a name with commas; empty for any other."""
    parts = [part for part in name.split(",") if part.strip()]
    if len(parts) < 2:
        return ""
    return (
        f"If these are {len(parts)} columns, name them separately: one per line in the form, each in its own "
        "quotes in a file."
    )
