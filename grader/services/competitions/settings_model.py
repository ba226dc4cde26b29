"""Settings of a competition: types, defaults, limits, labels, help texts and TOML keys.

The service, the form, the TOML file and docs/competition-settings.md are derived from this model. Its fields
are in the order of the TOML file; the setup page has its own order.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields
from datetime import UTC, datetime, time
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationInfo,
    WrapValidator,
    field_validator,
)
from pydantic_core import PydanticCustomError

from fairboard import MetricSettings
from grader.metrics import registry
from grader.models import Color, DivisionChoice, EntryMode, RevealRule
from grader.services.competitions.metric import MIN_CLASS_ROWS, AnyMetric, MetricChoice, NamedMetric
from grader.text import is_storable, listed, one_line, utc, without_directions
from grader.visibility import USUAL_FEEDBACK, Anonymity, Feedback, Phase, Step

MAX_COUNT = 1_000_000
MAX_IDENTITIES = 1000
TEXT_MAX_LENGTH = 20_000
LINE_CUT = 5_000  # above the maximum length of every line, so that longer ones are refused
YEARS = range(2000, 3000)  # leaves room for datetimes a week earlier or later
START_OF_DAY = time(0, 0, tzinfo=UTC)
END_OF_DAY = time(23, 59, tzinfo=UTC)


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


class Fixed(NamedTuple):
    """The phase from which a setting of a published competition can no longer be changed, and the reason."""

    since: Phase
    reason: str


@dataclass(frozen=True, slots=True)
class Setting:
    """The TOML key and the texts of a setting, or of a part of the metric, which has a `kind`.

    The form shows `label` and `help`; the TOML file, the documentation and the API show both as
    `description`. `name` is used within a sentence. The public log shows changes to dates and to settings
    that are `public`. `choices` contains the form's text for each value. `day` is the time of day used if a
    date has no time.
    """

    key: str
    label: str
    name: str = ""
    _: KW_ONLY
    help: str = ""
    public: bool = False
    fixed: Fixed | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    day: time = END_OF_DAY
    kind: Kind = Kind.NUMBER

    @property
    def words(self) -> str:
        """The name of the setting within a sentence."""
        return self.name or self.label[0].lower() + self.label[1:]

    @property
    def description(self) -> str:
        """The label, the allowed values and the help text."""
        values = ", ".join(
            f'"{value}"' if words.startswith(str(value)) else f'"{value}" ({words})'
            for value, words in self.choices.items()
        )
        return f"{self.label}{f': {values}' if values else ''}. {self.help}".rstrip()


METRIC_IS_FIXED = "Once the competition is published, only a rescoring can change this."
_METRIC = Fixed(Phase.SCHEDULED, METRIC_IS_FIXED)
_PUBLISHED = Fixed(Phase.SCHEDULED, "The competition is published, and its teams rely on this.")
_OPENED = Fixed(Phase.OPEN, "The competition has opened.")
_SHOWN = Fixed(
    Phase.OPEN, "This cannot change once the competition opens, because teams have already seen it."
)
_OVER = Fixed(Phase.CLOSED, "The competition is closed.")
_REVEALED = Fixed(Phase.REVEALED, "The private leaderboard has been revealed.")
_USUAL = "By default, 7 days before the close, or at the close if the competition lasts less than 28 days."


def division_names(text: str) -> tuple[str, ...]:
    """Return the names of the divisions of a valid setting."""
    return tuple(text.splitlines())


def _titled(title: str) -> str:
    if not title:
        raise ValueError("A competition needs a title.")
    return title


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


def _each_line(parse: Callable[[str], Any], text: str) -> str:
    """Return a text that `parse` accepts line by line; raise ValueError with the faults of all lines."""
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            parse(line)
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    if problems:
        raise ValueError("\n".join(problems))
    return text


def _divided(text: str) -> str:
    names: set[str] = set()

    def parse(name: str) -> None:
        if len(name) > 64 or ":" in name:
            raise ValueError(f"The division {name!r} needs a name of 1 to 64 characters without a colon.")
        if name.casefold() in names:
            raise ValueError(f"The division {name!r} is already listed.")
        names.add(name.casefold())

    return _each_line(parse, text)


_BIAS = TypeAdapter(MetricSettings)


def _metric(metric: Any, _union: Any) -> AnyMetric:
    """Validate a metric; without a name, it is the bias metric. The errors do not mention a union."""
    if isinstance(metric, dict):
        if metric.get(registry.TAG, registry.BIAS) != registry.BIAS:
            return NamedMetric.model_validate(metric)
        metric = {name: each for name, each in metric.items() if name != registry.TAG}
        weights = metric.get("weights")
        known = {field.name for field in fields(MetricSettings)} | WEIGHTS.keys()
        if unknown := sorted({*metric, *(weights if isinstance(weights, dict) else ())} - known):
            raise ValueError(f"{listed(unknown)}: not a part of the bias metric")
    return metric if isinstance(metric, NamedMetric) else _BIAS.validate_python(metric)


def merged_metric(metric: AnyMetric, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts of a metric after a change, not validated; another metric starts with its defaults."""
    before = {registry.TAG: registry.BIAS} | metric.as_dict()
    name = parts.get(registry.TAG, before[registry.TAG])
    return (before if name == before[registry.TAG] else {}) | dict(parts) | {registry.TAG: name}


ChosenMetric = Annotated[AnyMetric, WrapValidator(_metric)]
_COUNTED = Field(ge=1, le=MAX_COUNT)
Line = Annotated[str, Kind.LINE]
Name = Annotated[str, Kind.LINE, Field(max_length=64)]
Text = Annotated[str, Kind.TEXT, Field(max_length=TEXT_MAX_LENGTH)]
Lines = Annotated[str, Kind.LINES, Field(max_length=4_000)]
Count = Annotated[int, Kind.COUNT, _COUNTED]
Limit = Annotated[int | None, Kind.LIMIT, _COUNTED]
Date = Annotated[Annotated[datetime, AfterValidator(_dated)] | None, Kind.DATE]
Check = Annotated[bool, Kind.CHECK]
Names = Annotated[Annotated[tuple[str, ...], AfterValidator(_identified)] | None, Kind.NAMES]


class CompetitionSettings(BaseModel):
    """All settings of a competition; each field except the metric is a column of the same name.

    The defaults are the settings of a new competition. A limit of None means that there is no limit. A
    deadline or reveal date of None is derived from the close. If `identities` is None, the solution check
    proposes them. If `opens_at` is None, a draft opens when it is published.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[Line, Field(max_length=200), AfterValidator(_titled), Setting("title", "Title")] = ""
    stage_name: Annotated[
        Name,
        Setting(
            "stage",
            "Name of the stage",
            help="Shown after the title of a competition with several stages, such as “Stage 1: public”.",
        ),
    ] = ""
    contact: Annotated[
        Line,
        Field(max_length=500),
        Setting(
            "contact",
            "Contact",
            help="An e-mail address or a web page, visible to everyone. Required before publication.",
        ),
    ] = ""
    color: Annotated[
        Color,
        Kind.CHOICE,
        Setting(
            "color",
            "Color",
            help="The color of the competition's pages. By default, it is derived from the address.",
            choices={color: color.value for color in Color},
        ),
    ] = Color.AUTO
    feedback: Annotated[
        Feedback,
        Kind.CHOICE,
        Setting(
            "feedback",
            "Feedback",
            "feedback mode",
            help="The open mode gives participants the most help in improving their models. The other modes "
            "protect the "
            "public labels: choose one if much depends on the ranks and teams may submit many files.",
            fixed=_SHOWN,
            choices={
                Feedback.OPEN: "open (default): everyone sees the public score and its terms; a team also "
                "sees the values of each identity or group for its own submissions",
                Feedback.SCORE: "score: only the public score, with all its decimals",
                Feedback.TIERED: "tiered: only the band that contains the public score; each band is as "
                "wide as the step",
                Feedback.BLIND: "blind: no score and no rank, only whether a file was accepted",
            },
            public=True,
        ),
    ] = USUAL_FEEDBACK
    feedback_step: Annotated[
        Step,
        Kind.CHOICE,
        Setting(
            "feedback_step",
            "Step",
            "feedback step",
            help="Only for the tiered mode: the width of a band.",
            fixed=_SHOWN,
            choices={step: step.value for step in Step},
            public=True,
        ),
    ] = Step.OF_0_002
    boards: Annotated[
        Lines,
        Setting(
            "boards",
            "Named leaderboards",
            help="One per line: a name and a term of the metric, a weighted sum, or the worst group if the "
            "metric has groups, such as Both = 0.5 * score + 0.5 * worst group. Add lowest or highest at the "
            "end to set the direction.",
            public=True,
        ),
    ] = ""
    positive_name: Annotated[
        Name,
        Setting(
            "classes.positive",
            "Name of the positive class",
            help="The name for rows whose label reaches the threshold, such as “toxic”.",
        ),
    ] = "positive"
    negative_name: Annotated[Name, Setting("classes.negative", "Name of the negative class")] = "negative"
    row_name: Annotated[
        Name,
        Setting(
            "classes.rows",
            "Name of the rows",
            help="A plural noun for the rows of the test set, such as “comments”. By default, “rows”.",
        ),
    ] = ""
    opens_at: Annotated[
        Date,
        Setting(
            "dates.opens",
            "Opens",
            "opening",
            help="By default, the competition opens when you publish it.",
            fixed=_OPENED,
            day=START_OF_DAY,
        ),
    ] = None
    closes_at: Annotated[
        Date,
        Setting(
            "dates.closes",
            "Closes",
            "close",
            help="By default, the competition does not close automatically.",
            fixed=_OVER,
        ),
    ] = None
    entry_deadline: Annotated[
        Date, Setting("dates.entry_deadline", "Entry deadline", help=_USUAL, fixed=_OVER)
    ] = None
    merger_deadline: Annotated[
        Date, Setting("dates.merger_deadline", "Merger deadline", help=_USUAL, fixed=_OVER)
    ] = None
    reveal_rule: Annotated[
        RevealRule,
        Kind.CHOICE,
        Setting(
            "dates.reveal",
            "Reveal of the private leaderboard",
            "reveal rule",
            fixed=_REVEALED,
            choices={
                RevealRule.DATE: "automatically on a date, unless an organizer reveals it earlier",
                RevealRule.ORGANIZER: "only by an organizer",
            },
            public=True,
        ),
    ] = RevealRule.DATE
    reveals_at: Annotated[
        Date,
        Setting("dates.reveals", "Reveal date", help="By default, 7 days after the close.", fixed=_REVEALED),
    ] = None
    entry_mode: Annotated[
        EntryMode,
        Kind.CHOICE,
        Setting(
            "entry.mode",
            "Who may join",
            "entry mode",
            choices={
                EntryMode.OPEN: "anyone with an account",
                EntryMode.CODE: "anyone with the entry code",
                EntryMode.APPROVAL: "users whom an organizer admits",
            },
            public=True,
        ),
    ] = EntryMode.OPEN
    entry_code: Annotated[
        str | None,
        Kind.LINE,
        Field(max_length=64),
        Setting("entry.code", "Entry code", help="Only for entry by code."),
    ] = None
    divisions: Annotated[
        Lines,
        AfterValidator(_divided),
        Setting(
            "entry.divisions",
            "Divisions",
            help="One division per line, such as Students. Leaderboards can show a single division.",
            public=True,
        ),
    ] = ""
    division_choice: Annotated[
        DivisionChoice,
        Kind.CHOICE,
        Setting(
            "entry.division_choice",
            "Choice of the division",
            choices={DivisionChoice.TEAM: "by the team's leader", DivisionChoice.ORGANIZERS: "by organizers"},
        ),
    ] = DivisionChoice.TEAM
    max_team_size: Annotated[
        Count,
        Setting(
            "entry.team_size",
            "Members per team",
            "team size",
            help="If the limit is 1, everyone competes alone.",
            public=True,
        ),
    ] = 5
    anonymity: Annotated[
        Anonymity,
        Kind.CHOICE,
        Setting(
            "entry.anonymity",
            "Names of teams",
            "anonymity",
            help="Teams with hidden names appear under random aliases. Only organizers and the team itself "
            "see its name and members.",
            fixed=_PUBLISHED,
            choices={
                Anonymity.NONE: "visible to everyone",
                Anonymity.UNTIL_REVEAL: "hidden until the reveal",
                Anonymity.ALWAYS: "hidden even after the reveal",
            },
        ),
    ] = Anonymity.NONE
    max_daily_submissions: Annotated[
        Limit, Setting("limits.daily", "Submissions per UTC day", "daily submission limit", public=True)
    ] = 5
    max_total_submissions: Annotated[
        Limit, Setting("limits.total", "Submissions in total", "total submission limit", public=True)
    ] = None
    max_pending_submissions: Annotated[
        Count,
        Setting("limits.pending", "Pending submissions at once", "limit on pending submissions", public=True),
    ] = 5
    max_hourly_rejections: Annotated[
        Count,
        Setting(
            "limits.rejections_an_hour",
            "Rejected files per hour",
            "hourly limit on rejected files",
            public=True,
        ),
    ] = 30
    selection_count: Annotated[
        Count,
        Setting(
            "limits.selections",
            "Selected submissions",
            "number of selected submissions",
            help="Only a team's best selected submission counts on the private leaderboard.",
            public=True,
            fixed=_OVER,
        ),
    ] = 2
    takes_late_submissions: Annotated[
        Check,
        Setting(
            "limits.late",
            "Accept late submissions after the reveal and score them without a rank",
            "late submissions setting",
            help="Late submissions are scored on both splits, so participants can derive the labels from "
            "the scores.",
            public=True,
        ),
    ] = True
    identities: Annotated[
        Names,
        Setting(
            "metric.identities",
            "Identity columns",
            "identities",
            help="By default, the solution check proposes them.",
            fixed=_METRIC,
        ),
    ] = None
    min_class_rows: Annotated[
        Count,
        Setting(
            "metric.min_class_rows",
            "Minimum size",
            "minimum size in rows",
            help="The solution check proposes identities with at least this many rows of each class in each "
            "split.",
            fixed=_METRIC,
        ),
    ] = MIN_CLASS_ROWS
    metric: Annotated[ChosenMetric, Setting("metric", "Formula", "metric settings", fixed=_METRIC)] = Field(
        default_factory=MetricSettings
    )
    overview: Annotated[Text, Setting("texts.overview", "Overview", help="Markdown.")] = ""
    evaluation: Annotated[
        Text,
        Setting(
            "texts.evaluation",
            "Evaluation",
            "evaluation text",
            help="Shown above the description of the metric, which is added automatically. Markdown.",
        ),
    ] = ""
    rules: Annotated[
        str,
        Kind.TEXT,
        Field(max_length=50_000),
        Setting(
            "texts.rules",
            "Rules",
            help="Participants must accept the rules when they join and again when the rules change. "
            "Markdown.",
        ),
    ] = ""
    data_description: Annotated[
        Text, Setting("texts.data", "Data", "data text", help="Shown above the list of files. Markdown.")
    ] = ""

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
        return None if name in OPTIONAL and not value.strip() else value

    def changed(self, **changes: Any) -> Self:
        """Return a copy with these changes, which are not validated."""
        return self.model_copy(update=changes)

    @property
    def metric_choice(self) -> MetricChoice:
        """The settings for the solution check."""
        return MetricChoice(
            identities=self.identities, min_class_rows=self.min_class_rows, metric=self.metric
        )


# The formula is a single setting. Each part has its own input, but the weights share one TOML key.
WEIGHTS = {term.name: Setting("metric.weights", term.title) for term in registry.default().terms}
METRIC_PARTS = {
    "power": Setting(
        "metric.power",
        "Exponent p of the power means",
        help="With -5, each mean is close to the AUC of the weakest identity. inf and -inf are allowed.",
    ),
    "label_threshold": Setting(
        "metric.label_threshold",
        "Label threshold",
        help="A row is positive if its label is at least this value.",
    ),
    "identity_threshold": Setting(
        "metric.identity_threshold",
        "Identity threshold",
        help="A row mentions an identity if the value in its column is at least this value.",
    ),
} | WEIGHTS
# The parts of any other metric; each uses some of them.
NAMED_PARTS = {
    name: Setting(f"metric.{name}", label, help=text, kind=kind)
    for name, kind, label, text in (
        ("name", Kind.LINE, "Metric", "The name, such as rmse or macro_f1; by default, bias."),
        (
            "target",
            Kind.LINE,
            "Column of the true values",
            "By default, the column of the solution called target, label or toxicity.",
        ),
        ("columns", Kind.NAMES, "Columns", "Only for means over several columns: their names."),
        (
            "classes",
            Kind.NAMES,
            "Classes",
            "All classes in their order; by default, those that occur in the solution.",
        ),
        ("positive", Kind.LINE, "Positive class", "By default, the last class."),
        ("cutoff", Kind.COUNT, "Cutoff", "Only for MAP@k: the number of predicted classes that count."),
        (
            "weight",
            Kind.NUMBER,
            "Weight of the overall value",
            "With less than 1, the rest is the weight of the power mean over the groups, which stresses the "
            "worst group.",
        ),
        (
            "reported",
            Kind.NAMES,
            "Reported metrics",
            "Further metrics for the same columns. Their values are shown, but do not count.",
        ),
    )
}


def _described(kind: type) -> dict[str, Any]:
    return {
        name: each
        for name, field in CompetitionSettings.model_fields.items()
        for each in field.metadata
        if isinstance(each, kind)
    }


SETTINGS: Mapping[str, Setting] = _described(Setting)
PARTS: Mapping[str, Setting] = METRIC_PARTS | NAMED_PARTS
KINDS: Mapping[str, Kind] = _described(Kind) | {name: part.kind for name, part in PARTS.items()}
MAX_LENGTHS: Mapping[str, int] = {
    name: each.max_length
    for name, field in CompetitionSettings.model_fields.items()
    for each in field.metadata
    if hasattr(each, "max_length")
}
NAMES = tuple(SETTINGS)
OPTIONAL = frozenset(
    name for name, field in CompetitionSettings.model_fields.items() if field.default is None
)
METRIC = tuple(name for name, setting in SETTINGS.items() if setting.fixed is _METRIC)
DATES = tuple(name for name, kind in KINDS.items() if kind is Kind.DATE)
# Unless they are set, these dates are derived from the close.
FOLLOWING_DATES = ("entry_deadline", "merger_deadline", "reveals_at")
