"""Each setting of a competition: its type, default, limits, words, form label, help and TOML key.

The service, the form, the TOML file and the table in docs/organizers.md follow from this list. Its order is
that of the file; the form's order is in the web's steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from grader.metrics import MetricSettings
from grader.models import EntryMode, RevealRule
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice
from grader.visibility import Feedback, Phase

MAX_COUNT = 1_000_000
MAX_IDENTITIES = 1000
TEXT_MAX_LENGTH = 20_000
YEARS = range(2000, 3000)  # a week more or less stays within what dates can say
START_OF_DAY = time(0, 0, tzinfo=UTC)
END_OF_DAY = time(23, 59, tzinfo=UTC)


class Kind(StrEnum):
    """How a setting is entered and written; limits, dates and names may be None."""

    LINE = "line"
    TEXT = "text"
    COUNT = "count"
    LIMIT = "limit"
    NUMBER = "number"
    DATE = "date"
    CHECK = "check"
    CHOICE = "choice"
    NAMES = "names"


class Fixed(NamedTuple):
    """From which phase of a published competition a setting cannot be changed any more, and why."""

    since: Phase
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What people read of a setting.

    `words` name it in the middle of a sentence, `label` and `help` are the form's, `key` is its place in the
    TOML file and `meaning` says there and in the docs what it is. The public log tells changes of those with
    `public` words. `choices` have the form's words for each value; `day` is the time of a date alone.
    """

    words: str = ""
    label: str
    help: str = ""
    key: str
    meaning: str = ""
    public: str = ""
    fixed: Fixed | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    day: time = END_OF_DAY


METRIC_IS_FIXED = "It is fixed since publishing. Changed settings are a rescoring."
_METRIC = Fixed(Phase.SCHEDULED, METRIC_IS_FIXED)
_OPENED = Fixed(Phase.OPEN, "The competition has opened.")
_SHOWN = Fixed(Phase.OPEN, "It is fixed since the opening: what teams have seen cannot be taken back.")
_OVER = Fixed(Phase.CLOSED, "The competition is over.")
_REVEALED = Fixed(Phase.REVEALED, "The private leaderboard is revealed.")
_USUAL = "Left blank it is 7 days before the close; in a competition of a week or less, the close itself."
_WEEK_BEFORE = "without it 7 days before the close, or the close itself in a competition of a week or less"


def _titled(title: str) -> str:
    if not title:
        raise ValueError("A competition needs a title.")
    return title


def _linked(address: str) -> str:
    if address and not is_web_address(address):
        raise ValueError("The address of the discussion must begin with https:// or http://.")
    return address


def _dated(moment: datetime) -> datetime:
    if moment.year not in YEARS:
        raise PydanticCustomError("year", "not in the calendar")
    return moment


def _identified(names: tuple[str, ...]) -> tuple[str, ...]:
    problems = [] if names else ["A competition needs at least one identity in its score."]
    if len(names) > MAX_IDENTITIES:
        problems.append(f"A score has at most {MAX_IDENTITIES:,} identities, not {len(names):,}.")
    twice = sorted({name for name in names if names.count(name) > 1})
    problems += [f"The identity {name!r} must be named once." for name in twice]
    if problems:
        raise ValueError("\n".join(problems))
    return names


def is_web_address(text: str) -> bool:
    """Tell whether a text is the address of a web page, which may become a link."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and not set(text) & set(' "<>')


_COUNTED = Field(ge=1, le=MAX_COUNT)
Line = Annotated[str, Kind.LINE]
Text = Annotated[str, Kind.TEXT]
Count = Annotated[int, Kind.COUNT, _COUNTED]
Limit = Annotated[int | None, Kind.LIMIT, _COUNTED]
Date = Annotated[Annotated[datetime, AfterValidator(_dated)] | None, Kind.DATE]
Check = Annotated[bool, Kind.CHECK]
Names = Annotated[Annotated[tuple[str, ...], AfterValidator(_identified)] | None, Kind.NAMES]


class CompetitionSettings(BaseModel):
    """What is chosen about a competition; the fields but the metric's are the columns of that name.

    The defaults are those of a new competition. A limit of None is none; a deadline or date of the reveal of
    None follows from the close; identities of None are proposed from the solution. Without `opens_at` a draft
    opens when it is published.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[
        Line,
        Field(max_length=200),
        AfterValidator(_titled),
        Setting(words="title", label="Title", key="title", meaning="the heading of its pages"),
    ] = ""
    contact: Annotated[
        Line,
        Field(max_length=500),
        Setting(
            words="contact",
            label="Contact",
            help="An e-mail address or a page; everybody sees it. May be blank.",
            key="contact",
            meaning="an e-mail address or a page; everybody sees it",
        ),
    ] = ""
    discussion_url: Annotated[
        Line,
        Field(max_length=500),
        AfterValidator(_linked),
        Setting(
            words="address of the discussion",
            label="Discussion",
            help="The address of a forum, beginning with https://. May be blank.",
            key="discussion",
            meaning="the address of a forum; everybody sees it",
        ),
    ] = ""
    feedback: Annotated[
        Feedback,
        Kind.CHOICE,
        Setting(
            words="feedback",
            label="Feedback",
            key="feedback",
            meaning='what teams see before the reveal: "open", "terms" or "score"',
            fixed=_SHOWN,
            choices={
                Feedback.OPEN: "open: everybody sees the public score and its four terms, a team also the "
                "table of identities of its own submissions",
                Feedback.TERMS: "terms: the public score and its four terms, no tables",
                Feedback.SCORE: "score: the public score alone",
            },
        ),
    ] = Feedback.OPEN
    positive_name: Annotated[
        Line,
        Field(max_length=64),
        Setting(
            words="name of the positive class",
            label="Name of the positive class",
            help="Such as “toxic”: rows whose label reaches the threshold.",
            key="classes.positive",
            meaning="the name of rows whose label reaches the threshold",
        ),
    ] = "positive"
    negative_name: Annotated[
        Line,
        Field(max_length=64),
        Setting(
            words="name of the negative class",
            label="Name of the negative class",
            key="classes.negative",
            meaning="the name of the others",
        ),
    ] = "negative"
    opens_at: Annotated[
        Date,
        Setting(
            words="opening",
            public="opening",
            label="Opens",
            help="Left blank a draft opens when it is published.",
            key="dates.opens",
            meaning="without it the competition opens when it is published; a date alone is 00:00 UTC",
            fixed=_OPENED,
            day=START_OF_DAY,
        ),
    ] = None
    closes_at: Annotated[
        Date,
        Setting(
            words="close",
            public="close",
            label="Closes",
            help="Left blank it does not close by itself.",
            key="dates.closes",
            meaning="without it the competition does not close by itself; a date alone is 23:59 UTC",
            fixed=_OVER,
        ),
    ] = None
    entry_deadline: Annotated[
        Date,
        Setting(
            words="entry deadline",
            public="entry deadline",
            label="Entry until",
            help=_USUAL,
            key="dates.entry_deadline",
            meaning=_WEEK_BEFORE,
            fixed=_OVER,
        ),
    ] = None
    merger_deadline: Annotated[
        Date,
        Setting(
            words="merger deadline",
            public="merger deadline",
            label="Teams can grow and merge until",
            help=_USUAL,
            key="dates.merger_deadline",
            meaning=_WEEK_BEFORE,
            fixed=_OVER,
        ),
    ] = None
    reveal_rule: Annotated[
        RevealRule,
        Kind.CHOICE,
        Setting(
            words="rule of the reveal",
            label="The private leaderboard is revealed",
            key="dates.reveal",
            meaning='"date": at a date; "organizer": by an organizer alone',
            fixed=_REVEALED,
            choices={
                RevealRule.DATE: "at a date, unless an organizer does it before",
                RevealRule.ORGANIZER: "by an organizer alone",
            },
        ),
    ] = RevealRule.DATE
    reveals_at: Annotated[
        Date,
        Setting(
            words="date of the reveal",
            public="date of the reveal",
            label="Date of the reveal",
            help="Left blank it is 7 days after the close.",
            key="dates.reveals",
            meaning="without it 7 days after the close, where the reveal is at a date",
            fixed=_REVEALED,
        ),
    ] = None
    entry_mode: Annotated[
        EntryMode,
        Kind.CHOICE,
        Setting(
            words="entry mode",
            label="Who may join",
            key="entry.mode",
            meaning='"open": anybody; "code": who knows it; "approval": whom an organizer lets in',
            choices={
                EntryMode.OPEN: "anybody with an account",
                EntryMode.CODE: "whoever knows the code",
                EntryMode.APPROVAL: "whom an organizer lets in",
            },
        ),
    ] = EntryMode.OPEN
    entry_code: Annotated[
        str | None,
        Kind.LINE,
        Field(max_length=64),
        Setting(
            words="entry code",
            label="Code",
            help="Only for entry by code.",
            key="entry.code",
            meaning='where the mode is "code"',
        ),
    ] = None
    max_team_size: Annotated[
        Count,
        Setting(
            words="team size",
            label="Members of a team",
            help="1 makes a competition of single people.",
            key="entry.team_size",
            meaning="members of a team; 1 makes a competition of single people",
            public="largest size of a team",
        ),
    ] = 5
    max_daily_submissions: Annotated[
        Limit,
        Setting(
            words="daily limit",
            label="Submissions a UTC day",
            help="Blank is no limit.",
            key="limits.daily",
            meaning="submissions of a team and UTC day",
            public="limit of submissions a day",
        ),
    ] = 5
    max_total_submissions: Annotated[
        Limit,
        Setting(
            words="total limit",
            label="Submissions in all",
            help="Blank is no limit.",
            key="limits.total",
            meaning="submissions of a team in all",
            public="limit of submissions in all",
        ),
    ] = None
    max_pending_submissions: Annotated[
        Count,
        Setting(
            words="limit of pending submissions",
            label="Waiting at once",
            key="limits.pending",
            meaning="submissions of a team that wait at once",
            public="limit of submissions that wait at once",
        ),
    ] = 5
    max_hourly_rejections: Annotated[
        Count,
        Setting(
            words="hourly limit of rejected files",
            label="Rejected files an hour",
            key="limits.rejections_an_hour",
            meaning="rejected files of a team and hour",
            public="limit of rejected files an hour",
        ),
    ] = 30
    selection_count: Annotated[
        Count,
        Setting(
            words="number of selected submissions",
            label="Selected submissions",
            help="The better one of them counts on the private leaderboard.",
            key="limits.selections",
            meaning="submissions a team selects for the private leaderboard",
            public="number of selected submissions",
            fixed=_OVER,
        ),
    ] = 2
    takes_late_submissions: Annotated[
        Check,
        Setting(
            words="choice of late submissions",
            label="Score files after the reveal as late submissions, on no board",
            help="With late scores on both splits the labels become recoverable.",
            key="limits.late",
            meaning="files after the reveal are scored, on no board",
        ),
    ] = True
    identities: Annotated[
        Names,
        Setting(
            words="choice of identities",
            label="Columns of the solution",
            help="One name on each line. Left blank the solution's check proposes them.",
            key="metric.identities",
            meaning="a list; proposed are those with enough rows of each class in each split",
            fixed=_METRIC,
        ),
    ] = None
    min_class_rows: Annotated[
        Count,
        Setting(
            words="minimum size in rows",
            label="Minimum size",
            help="How many rows of each class in each split a proposed identity has.",
            key="metric.min_class_rows",
            meaning="rows of each class in each split that a proposed identity has",
            fixed=_METRIC,
        ),
    ] = MIN_CLASS_ROWS
    metric: Annotated[
        MetricSettings,
        Setting(words="formula of the metric", label="Formula", key="metric", fixed=_METRIC),
    ] = Field(default_factory=MetricSettings)
    overview: Annotated[
        Text,
        Field(max_length=TEXT_MAX_LENGTH),
        Setting(
            words="overview",
            label="Overview",
            help="Markdown.",
            key="texts.overview",
            meaning="Markdown",
        ),
    ] = ""
    evaluation: Annotated[
        Text,
        Field(max_length=TEXT_MAX_LENGTH),
        Setting(
            words="text on the evaluation",
            label="Evaluation",
            help="Stands above the metric, which the page describes itself. Markdown.",
            key="texts.evaluation",
            meaning="Markdown, above the metric",
        ),
    ] = ""
    rules: Annotated[
        Text,
        Field(max_length=50_000),
        Setting(
            words="text of the rules",
            label="Rules",
            help="Whoever joins accepts them, and accepts them again when they change. Markdown.",
            key="texts.rules",
            meaning="Markdown; without rules nobody has to accept any",
        ),
    ] = ""
    data_description: Annotated[
        Text,
        Field(max_length=TEXT_MAX_LENGTH),
        Setting(
            words="text on the data",
            label="Data",
            help="Stands above the files. Markdown.",
            key="texts.data",
            meaning="Markdown, above the files",
        ),
    ] = ""

    def changed(self, **changes: Any) -> Self:
        """Return these settings with changes, right or wrong: `problems` says what is wrong with them."""
        return self.model_copy(update=changes)

    @property
    def metric_choice(self) -> MetricChoice:
        """The part that a solution is checked with."""
        return MetricChoice(
            identities=self.identities, min_class_rows=self.min_class_rows, metric=self.metric
        )


# The formula is one setting with these parts; each has its own input and, but for the weights, its own key.
_SUM = "they sum to 1"
WEIGHTS = {
    "overall_auc": Setting(label="Overall AUC", key="metric.weights", meaning=_SUM),
    "subgroup_auc": Setting(label="Subgroup AUC", key="metric.weights", meaning=_SUM),
    "bpsn_auc": Setting(label="BPSN AUC", key="metric.weights", meaning=_SUM),
    "bnsp_auc": Setting(label="BNSP AUC", key="metric.weights", meaning=_SUM),
}
METRIC_PARTS = {
    "power": Setting(
        label="Power p of the means",
        help="-5 stays close to the weakest identity; inf and -inf are allowed.",
        key="metric.power",
        meaning="exponent of the power means; inf and -inf are the largest and smallest",
    ),
    "label_threshold": Setting(
        label="Threshold of the label",
        help="Positive at this value and above.",
        key="metric.label_threshold",
        meaning="positive at this value and above",
    ),
    "identity_threshold": Setting(
        label="Threshold of identities",
        help="Mentioned at this value and above.",
        key="metric.identity_threshold",
        meaning="mentioned at this value and above",
    ),
} | WEIGHTS


def _described(kind: type) -> dict[str, Any]:
    return {
        name: each
        for name, field in CompetitionSettings.model_fields.items()
        for each in field.metadata
        if isinstance(each, kind)
    }


SETTINGS: Mapping[str, Setting] = _described(Setting)
KINDS: Mapping[str, Kind] = _described(Kind) | dict.fromkeys(METRIC_PARTS, Kind.NUMBER)
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
