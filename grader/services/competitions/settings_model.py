"""Competition settings: types, defaults, limits; settings_texts.toml contains their keys and texts.

The service, the form, the TOML file and docs/competition-settings.md are derived from this model. Its fields
are in the order of competition files; settings_texts.toml is in the order of the setup page.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from grader.metrics import registry
from grader.models import Color, DivisionChoice, EntryMode, RevealRule
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice, NamedMetric, StoredMetric
from grader.text import is_storable, one_line, utc, without_directions
from grader.visibility import USUAL_FEEDBACK, Anonymity, Feedback, Phase, Step, Visibility

MAX_COUNT = 1_000_000
MAX_IDENTITIES = 1000
TEXT_MAX_LENGTH = 20_000
LINE_CUT = 5_000  # above the maximum length of every line, so that longer ones are refused
CONTACT = re.compile(r"(mailto:)?[^@\s<>\"/:]+@[^@\s<>\"/:]+|https?://[^\s<>\"]+")
YEARS = range(2000, 3000)  # leaves room for datetimes a week earlier or later


class Kind(StrEnum):
    """The input and output formats of settings; limits, dates and names may be None."""

    LINE = "line"
    TEXT = "text"
    LINES = "lines"
    COUNT = "count"
    LIMIT = "limit"
    NUMBER = "number"
    DATE = "date"
    CHECK = "check"
    CHOICE = "choice"
    NAMES = "names"


# These texts stand for a blank date or limit, and for identities that the check proposes.
BLANK: Mapping[Kind | None, str] = {Kind.DATE: "none", Kind.LIMIT: "none", Kind.NAMES: "proposed"}


class Setting(NamedTuple):
    """A setting, or a part of the metric: its texts, and when it becomes fixed.

    The form shows `label` and `help`; the TOML file, the documentation and the API show both as
    `description`. The public log shows changes to dates and to settings that are `public`. `choices` contains
    the form's text for each value.
    """

    key: str
    label: str
    name: str = ""
    help: str = ""
    public: bool = False
    fixed: str = ""
    choices: Mapping[str, str] = {}

    @property
    def words(self) -> str:
        """The name of the setting within a sentence."""
        return self.name or self.label[0].lower() + self.label[1:]

    @property
    def description(self) -> str:
        """The label, the allowed values and the help text."""
        values = ", ".join(
            f'"{value}"' if words.startswith(value) else f'"{value}" ({words})'
            for value, words in self.choices.items()
        )
        return f"{self.label}{f': {values}' if values else ''}. {self.help}".rstrip()


class Group(NamedTuple):
    """Settings with a heading; a folded group is closed until one of its settings has a problem."""

    heading: str
    names: tuple[str, ...]
    is_folded: bool = False


class SettingsSection(NamedTuple):
    """A section of the setup page."""

    key: str
    title: str
    groups: tuple[Group, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all settings in the section."""
        return tuple(name for group in self.groups for name in group.names)


METRIC_IS_FIXED = "Once the competition is published, only a rescoring can change this."
# For each value of `fixed`: the phase from which the setting of a published competition cannot be changed,
# and the reason.
FIXED = {
    "metric": (Phase.SCHEDULED, METRIC_IS_FIXED),
    "published": (Phase.SCHEDULED, "The competition is published, and its teams rely on this."),
    "opened": (Phase.OPEN, "The competition has opened."),
    "shown": (
        Phase.OPEN,
        "This cannot change once the competition opens, because teams have already seen it.",
    ),
    "over": (Phase.CLOSED, "The competition is closed."),
    "revealed": (Phase.REVEALED, "The private leaderboard has been revealed."),
}


def usual_time(name: str) -> time:
    """Return the time of day of a date without a time: the start of the day for the opening, or its end."""
    return time(0, 0, tzinfo=UTC) if name == "opens_at" else time(23, 59, tzinfo=UTC)


def division_names(text: str) -> tuple[str, ...]:
    """Return the names of the divisions of a valid setting."""
    return tuple(text.splitlines())


def _titled(title: str) -> str:
    if not title:
        raise ValueError("A competition needs a title.")
    return title


def _contactable(contact: str) -> str:
    if contact and not CONTACT.fullmatch(contact):
        raise ValueError(
            "The contact must be an e-mail address or a web page, such as ask@example.org or https://example.org."
        )
    return contact


def _dated(moment: datetime) -> datetime:
    if moment.year not in YEARS:
        raise PydanticCustomError("year", "year out of range")
    if moment.tzinfo is None:
        raise PydanticCustomError("zone", "must include a time zone, as in 2030-01-31T12:00:00Z")
    return utc(moment)


def _lines(text: str) -> str:
    return "\n".join(filter(None, (one_line(line, LINE_CUT) for line in text.splitlines())))


def _text(text: str) -> str:
    """Return a text with line feeds as its line endings."""
    return without_directions(text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")).strip()


def _identified(names: tuple[str, ...]) -> tuple[str, ...]:
    problems = [] if names else ["No identity is selected for the score. Choose at least one."]
    if not all(map(is_storable, names)):
        raise ValueError("Remove the character NUL (U+0000); a name of an identity cannot contain it.")
    if len(names) > MAX_IDENTITIES:
        problems.append(f"The score has {len(names):,} identities. The limit is {MAX_IDENTITIES:,}.")
    twice = sorted({name for name in names if names.count(name) > 1})
    problems += [f"The identity {name!r} is listed more than once." for name in twice]
    if problems:
        raise ValueError("\n".join(problems))
    return names


def _divided(text: str) -> str:
    names: set[str] = set()
    problems = []
    for number, name in enumerate(text.splitlines(), 1):
        if len(name) > 64 or ":" in name:
            words = f"The division {name!r} needs a name of 1 to 64 characters without a colon."
            problems.append(f"line {number}: {words}")
        elif name.casefold() in names:
            problems.append(f"line {number}: The division {name!r} is already listed.")
        names.add(name.casefold())
    if problems:
        raise ValueError("\n".join(problems))
    return text


def merged_metric(metric: NamedMetric, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a metric after a change, not validated; another metric starts with its defaults."""
    before = {registry.TAG: registry.BIAS} | metric.as_dict()
    name = parts.get(registry.TAG, before[registry.TAG])
    return (before if name == before[registry.TAG] else {}) | dict(parts) | {registry.TAG: name}


_COUNTED = Field(ge=1, le=MAX_COUNT)
Line = Annotated[str, Kind.LINE]
Name = Annotated[str, Kind.LINE, Field(max_length=64)]
Text = Annotated[str, Kind.TEXT, Field(max_length=TEXT_MAX_LENGTH)]
Lines = Annotated[str, Kind.LINES, Field(max_length=4_000)]
Count = Annotated[int, Kind.COUNT, _COUNTED]
Limit = Annotated[int | None, Kind.LIMIT, _COUNTED]
Date = Annotated[Annotated[datetime, AfterValidator(_dated)] | None, Kind.DATE]
Names = Annotated[Annotated[tuple[str, ...], AfterValidator(_identified)] | None, Kind.NAMES]


class CompetitionSettings(BaseModel):
    """All settings of a competition; each field except the metric is a column of the same name.

    The defaults are the settings of a new competition. A limit of None means that there is no limit. A
    deadline or reveal date of None is derived from the close. If `identities` is None, the solution check
    proposes them. If `opens_at` is None, a draft opens when it is published.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[Line, Field(max_length=200), AfterValidator(_titled)] = ""
    stage_name: Name = ""
    contact: Annotated[Line, Field(max_length=500), AfterValidator(_contactable)] = ""
    color: Annotated[Color, Kind.CHOICE] = Color.AUTO
    feedback: Annotated[Feedback, Kind.CHOICE] = USUAL_FEEDBACK
    feedback_step: Annotated[Step, Kind.CHOICE] = Step.OF_0_002
    boards: Lines = ""
    positive_name: Name = "positive"
    negative_name: Name = "negative"
    opens_at: Date = None
    closes_at: Date = None
    entry_deadline: Date = None
    merger_deadline: Date = None
    reveal_rule: Annotated[RevealRule, Kind.CHOICE] = RevealRule.DATE
    reveals_at: Date = None
    entry_mode: Annotated[EntryMode, Kind.CHOICE] = EntryMode.OPEN
    entry_code: Annotated[str | None, Kind.LINE, Field(max_length=64)] = None
    divisions: Annotated[Lines, AfterValidator(_divided)] = ""
    division_choice: Annotated[DivisionChoice, Kind.CHOICE] = DivisionChoice.TEAM
    max_team_size: Count = 5
    anonymity: Annotated[Anonymity, Kind.CHOICE] = Anonymity.NONE
    visibility: Annotated[Visibility, Kind.CHOICE] = Visibility.PUBLIC
    max_daily_submissions: Limit = 5
    max_total_submissions: Limit = None
    max_pending_submissions: Count = 5
    max_hourly_rejections: Count = 30
    selection_count: Count = 2
    takes_late_submissions: Annotated[bool, Kind.CHECK] = True
    identities: Names = None
    min_class_rows: Annotated[int, Kind.COUNT, Field(ge=MIN_CLASS_ROWS, le=MAX_COUNT)] = MIN_CLASS_ROWS
    metric: StoredMetric = Field(default_factory=NamedMetric)
    overview: Text = ""
    evaluation: Text = ""
    rules: Annotated[str, Kind.TEXT, Field(max_length=50_000)] = ""
    data_description: Text = ""

    @field_validator("*", mode="before")
    @classmethod
    def _clean(cls, value: Any, info: ValidationInfo) -> Any:
        """Return a value in its stored form: one-line values, and texts with normalized line endings."""
        name = str(info.field_name)
        kind = KINDS.get(name)
        if isinstance(value, bool) and kind in (Kind.COUNT, Kind.LIMIT):
            raise PydanticCustomError("int_type", "must be a whole number")
        if not isinstance(value, str):
            return value
        match kind:
            case Kind.LINE:
                value = one_line(value, LINE_CUT)
            case Kind.LINES:
                value = _lines(value)
            case Kind.TEXT:
                value = _text(value)
        is_optional = name in OPTIONAL or kind is Kind.LIMIT
        return None if is_optional and (not value.strip() or value == BLANK.get(kind)) else value

    def changed(self, **changes: Any) -> Self:
        """Return a copy with these changes, which are not validated."""
        return self.model_copy(update=changes)

    @property
    def metric_choice(self) -> MetricChoice:
        """The settings for the solution check."""
        return MetricChoice(
            identities=self.identities, min_class_rows=self.min_class_rows, metric=self.metric
        )


def _sections() -> Iterator[SettingsSection]:
    for key, title in (("text", "Text"), ("data", "Data and metric"), ("dates", "Dates and entry")):
        groups = [
            Group(heading, tuple(settings), state == "folded")
            for state, named in _TEXTS[key].items()
            for heading, settings in named.items()
        ]
        yield SettingsSection(key, title, tuple(groups))
    yield SettingsSection("publish", "Publish")


def _setting(name: str) -> Setting:
    """Return a setting; a choice without texts shows its values."""
    setting = Setting(**_DECLARED[name])
    if KINDS[name] is Kind.CHOICE and not setting.choices:
        kind = CompetitionSettings.model_fields[name].annotation
        return setting._replace(choices={each.value: each.value for each in kind})  # type: ignore[union-attr]
    return setting


_TEXTS = tomllib.loads(Path(__file__).with_name("settings_texts.toml").read_text("utf-8"))
_DECLARED: Mapping[str, dict[str, Any]] = {
    name: setting
    for section in _TEXTS.values()
    for groups in section.values()
    for group in groups.values()
    for name, setting in group.items()
}
TEXT, DATA, DATES_AND_ENTRY, PUBLISH = SECTIONS = tuple(_sections())
_FIELDS = CompetitionSettings.model_fields
# The formula of the bias metric is a single setting. Each part has its own input, but the weights share one
# TOML key. Any other metric uses some of the named parts.
_KINDS = {
    "cutoff": Kind.COUNT,
    "decimals": Kind.COUNT,
    "columns": Kind.NAMES,
    "classes": Kind.NAMES,
    "reported": Kind.NAMES,
}
_KINDS |= dict.fromkeys(("name", "target", "positive", "prediction"), Kind.LINE)
KINDS: Mapping[str, Kind] = (
    dict.fromkeys(_DECLARED, Kind.NUMBER)
    | _KINDS
    | {name: each for name, field in _FIELDS.items() for each in field.metadata if isinstance(each, Kind)}
)
_METRIC = Setting("metric", "Metric", "metric settings", fixed="metric")
SETTINGS: Mapping[str, Setting] = {n: _METRIC if n == "metric" else _setting(n) for n in _FIELDS}
PARTS: Mapping[str, Setting] = {name: _setting(name) for name in _DECLARED if name not in _FIELDS}
NAMED_PARTS = {name: part for name, part in PARTS.items() if name in NamedMetric.model_fields}
METRIC_PARTS = {name: part for name, part in PARTS.items() if name not in NAMED_PARTS}
WEIGHTS = {name: part for name, part in PARTS.items() if part.key == "metric.weights"}
MAX_LENGTHS: Mapping[str, int] = {
    name: each.max_length
    for name, field in _FIELDS.items()
    for each in field.metadata
    if hasattr(each, "max_length")
}
NAMES = tuple(SETTINGS)
SECTION_SETTINGS: Mapping[str, tuple[str, ...]] = {
    section.key: tuple(
        name for name in NAMES if name in section.names or (name == "metric" and section is DATA)
    )
    for section in SECTIONS
}
OPTIONAL = frozenset(name for name, field in _FIELDS.items() if field.default is None)
METRIC = tuple(name for name, setting in SETTINGS.items() if setting.fixed == "metric")
DATES = tuple(name for name, kind in KINDS.items() if kind is Kind.DATE)
# Unless they are set, these dates are derived from the close.
FOLLOWING_DATES = ("entry_deadline", "merger_deadline", "reveals_at")
