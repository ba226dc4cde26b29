"""Rules for settings, checked when they are saved and published: values, date order, conflicts."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from grader.errors import OrganizerRefusal
from grader.metrics import boards
from grader.models import EntryMode, RevealRule
from grader.services.competitions.settings_model import SETTINGS, CompetitionSettings


class Fault(NamedTuple):
    """A problem's message, the names of the affected settings, and the part of the metric, if known."""

    sentence: str
    names: tuple[str, ...] = ()
    part: str = ""

    def as_problem(self) -> dict[str, Any]:
        """Return the fault as an item of `problems` in an error."""
        return {"fields": list(self.names), "message": self.sentence}


class InvalidCompetition(OrganizerRefusal):
    """Settings are invalid or cannot be changed; each problem names its fields."""

    public_name = "invalid_competition"

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(faults)
        problems = [fault.as_problem() for fault in self.faults]
        super().__init__(self.public_name, self.kind, problems=problems)


def read(changes: Mapping[str, Any]) -> tuple[dict[str, Any], list[Fault]]:
    """Return the valid changes in their stored form, and the problems with the other ones."""
    try:
        model, faults = CompetitionSettings.model_validate(changes), []
    except ValidationError as error:
        faults = [fault for each in error.errors(include_url=False) for fault in _faults(each)]
        wrong = {name for fault in faults for name in fault.names}
        model = CompetitionSettings.model_validate({n: each for n, each in changes.items() if n not in wrong})
    return {name: getattr(model, name) for name in changes if name in model.model_fields_set}, faults


def _faults(error: ErrorDetails) -> Iterable[Fault]:
    name = str(error["loc"][0])
    if name not in SETTINGS:
        yield Fault(f"{name} is not a setting.", (name,))
        return
    part = str(error["loc"][1]) if name == "metric" and len(error["loc"]) > 1 else ""
    label = f"{SETTINGS[name].label}{f' ({part})' if part else ''}"
    own = str(error["ctx"]["error"]) if error["type"] == "value_error" else error["msg"]
    for text in own.replace("`", "").replace("Input should", "must").splitlines():
        is_sentence = text.endswith((".", "?")) and not text.startswith(("line ", "must "))
        separator = " " if text.startswith("must ") else ": "
        yield Fault(text if is_sentence else f"{label}{separator}{text.removesuffix('.')}.", (name,), part)


def problems(settings: CompetitionSettings, *, is_draft: bool) -> list[Fault]:
    """Return all problems with settings, which need not be valid; a draft may lack dates."""
    values, faults = read(dict(settings))
    settings = CompetitionSettings().changed(**values)
    faults += [*_class_problems(settings), *_entry_problems(settings)]
    faults += [Fault(sentence, ("metric",)) for sentence in settings.metric_choice.metric.problems()]
    faults += [Fault(sentence, ("boards",)) for sentence in boards.parse(settings.boards, None)[1]]
    wrong = {name for fault in faults for name in fault.names}
    if settings.opens_at is None and not is_draft and "opens_at" not in wrong:
        faults.append(Fault("A published competition needs an opening time.", ("opens_at",)))
    if not settings.contact and not is_draft and "contact" not in wrong:
        sentence = "Enter a contact, such as an e-mail address, for questions and appeals of teams."
        faults.append(Fault(sentence, ("contact",)))
    return [*faults, *_order_problems(settings), *_reveal_problems(settings)]


def _class_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    positive, negative = settings.positive_name, settings.negative_name
    classes = ("positive_name", "negative_name")
    if not (positive and negative):
        yield Fault("Both classes need a name.", classes)
    elif positive.casefold() == negative.casefold():
        yield Fault(f"Both classes are named {positive!r}. Give them different names.", classes)


def _entry_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    mode, names = settings.entry_mode, ("entry_mode", "entry_code")
    if mode is EntryMode.CODE and not settings.entry_code:
        yield Fault("Entry by code requires an entry code.", names)
    if mode is not EntryMode.CODE and settings.entry_code:
        yield Fault(
            f"An entry code can be used only for entry by code, but the entry mode is {mode.value}.", names
        )


def _order_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    opens_at, closes_at = settings.opens_at, settings.closes_at
    if opens_at is not None and closes_at is not None and closes_at <= opens_at:
        yield Fault("The closing time must be after the opening time.", ("closes_at", "opens_at"))
    # If there is no opening time, no deadline can be too early.
    earliest = opens_at or datetime.min.replace(tzinfo=UTC)
    for name in ("entry_deadline", "merger_deadline"):
        deadline, words = getattr(settings, name), SETTINGS[name].words
        if deadline is not None and deadline <= earliest:
            yield Fault(f"The {words} must be after the opening time.", (name, "opens_at"))
        if deadline is not None and closes_at is not None and deadline > closes_at:
            yield Fault(f"The {words} cannot be after the closing time.", (name, "closes_at"))


def _reveal_problems(settings: CompetitionSettings) -> Iterable[Fault]:
    if settings.reveals_at is None:
        return
    if settings.reveal_rule is RevealRule.ORGANIZER:
        yield Fault(
            "Organizers reveal the private leaderboard, so a reveal date has no effect. Remove the date or "
            "change the reveal rule.",
            ("reveals_at", "reveal_rule"),
        )
    elif settings.closes_at is None:
        yield Fault("A reveal date requires a closing time.", ("reveals_at", "closes_at"))
    elif settings.reveals_at < settings.closes_at:
        yield Fault(
            "The private leaderboard cannot be revealed before the close.", ("reveals_at", "closes_at")
        )
