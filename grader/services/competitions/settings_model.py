"""Settings of a competition: type, default, limits, words, form label, help and TOML key.

The service, the form, the TOML file and the table in docs/organizers.md follow from this list. Its order is
that of the file; the order of the form is in the steps of the web.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, time
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from grader.metrics import MetricSettings
from grader.models import EntryMode, RevealRule
from grader.services.competitions.metric import MIN_CLASS_ROWS, MetricChoice
from grader.visibility import USUAL_FEEDBACK, Feedback, Phase, Step

MAX_COUNT = 1_000_000
MAX_IDENTITIES = 1000
TEXT_MAX_LENGTH = 20_000
YEARS = range(2000, 3000)  # a week more or less stays within what dates can say
START_OF_DAY = time(0, 0, tzinfo=UTC)
END_OF_DAY = time(23, 59, tzinfo=UTC)


class Kind(StrEnum):
    """The input and output format of a setting; limits, dates and names may be None."""

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
    """The phase of a published competition from which a setting can no longer be changed, and why."""

    since: Phase
    reason: str


@dataclass(frozen=True, slots=True)
class Setting:
    """The texts about a setting.

    `key` is its place in the TOML file. `label` and `help` are those of the form; the TOML file, the docs and
    the API show them as `description`. `words` name it in the middle of a sentence. The public log shows
    changes of dates, and of settings with `public` words. `choices` have the form's words for each value;
    `day` is the time of a date without one.
    """

    key: str
    label: str
    words: str = ""
    _: KW_ONLY
    help: str = ""
    public: str = ""
    fixed: Fixed | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    day: time = END_OF_DAY

    @property
    def description(self) -> str:
        """The label, the values to choose from, and the help."""
        values = ", ".join(
            f'"{value}"' if words.startswith(str(value)) else f'"{value}" ({words})'
            for value, words in self.choices.items()
        )
        return f"{self.label}{f': {values}' if values else ''}. {self.help}".rstrip()


METRIC_IS_FIXED = "It is fixed once the competition is published. To change it, start a rescoring."
_METRIC = Fixed(Phase.SCHEDULED, METRIC_IS_FIXED)
_OPENED = Fixed(Phase.OPEN, "The competition has opened.")
_SHOWN = Fixed(Phase.OPEN, "It is fixed once the competition opens, because teams have already seen it.")
_OVER = Fixed(Phase.CLOSED, "The competition is over.")
_REVEALED = Fixed(Phase.REVEALED, "The private leaderboard is revealed.")
_USUAL = "By default, 7 days before the close; in a competition of a week or less, the close itself."


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
    """Return whether a text is a web address, which may become a link."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and not set(text) & set(' "<>')


_COUNTED = Field(ge=1, le=MAX_COUNT)
Line = Annotated[str, Kind.LINE]
Name = Annotated[str, Kind.LINE, Field(max_length=64)]
Text = Annotated[str, Kind.TEXT, Field(max_length=TEXT_MAX_LENGTH)]
Count = Annotated[int, Kind.COUNT, _COUNTED]
Limit = Annotated[int | None, Kind.LIMIT, _COUNTED]
Date = Annotated[Annotated[datetime, AfterValidator(_dated)] | None, Kind.DATE]
Check = Annotated[bool, Kind.CHECK]
Names = Annotated[Annotated[tuple[str, ...], AfterValidator(_identified)] | None, Kind.NAMES]


class CompetitionSettings(BaseModel):
    """All settings of a competition; every field except the metric is a column with the same name.

    The defaults are those of a new competition. A limit of None is unlimited. A deadline or reveal date of
    None is derived from the close. Identities of None are proposed from the solution. Without `opens_at` a
    draft opens when it is published.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: Annotated[
        Line, Field(max_length=200), AfterValidator(_titled), Setting("title", "Title", "title")
    ] = ""
    contact: Annotated[
        Line,
        Field(max_length=500),
        Setting(
            "contact",
            "Contact",
            "contact",
            help="An e-mail address or a web page, shown to everybody. Optional.",
        ),
    ] = ""
    discussion_url: Annotated[
        Line,
        Field(max_length=500),
        AfterValidator(_linked),
        Setting(
            "discussion",
            "Discussion",
            "address of the discussion",
            help="The address of a forum, starting with https://. Optional.",
        ),
    ] = ""
    feedback: Annotated[
        Feedback,
        Kind.CHOICE,
        Setting(
            "feedback",
            "Feedback",
            "feedback",
            help="In open a participant sees what helps to improve a model. The other modes protect the "
            "public labels: choose one if prizes are at stake and teams may send many files.",
            fixed=_SHOWN,
            choices={
                Feedback.OPEN: "open (default): everybody sees the public score and its four terms; a team "
                "also sees the identity table of its own submissions",
                Feedback.TERMS: "terms: the public score and its four terms, but no tables",
                Feedback.SCORE: "score: only the public score, with all its decimals",
                Feedback.TIERED: "tiered: only the band in which the public score lies, as wide as the step",
                Feedback.LADDER: "ladder: a team sees a score, in steps and with secret noise, only when a "
                "file is clearly better than its best so far",
                Feedback.NOISED: "noised: the public score with random noise of about the step; the same "
                "file shows the same again",
                Feedback.BLIND: "blind: no score and no rank, only whether a file was accepted",
            },
        ),
    ] = USUAL_FEEDBACK
    feedback_step: Annotated[
        Step,
        Kind.CHOICE,
        Setting(
            "feedback_step",
            "Step",
            "step of the feedback",
            help="Only for tiered, ladder and noised: the width of a band, the improvement that a ladder "
            "requires, or the spread of the noise.",
            fixed=_SHOWN,
            choices={step: step.value for step in Step},
        ),
    ] = Step.OF_0_002
    positive_name: Annotated[
        Name,
        Setting(
            "classes.positive",
            "Name of the positive class",
            "name of the positive class",
            help="For rows whose label reaches the threshold, such as “toxic”.",
        ),
    ] = "positive"
    negative_name: Annotated[
        Name,
        Setting("classes.negative", "Name of the negative class", "name of the negative class"),
    ] = "negative"
    row_name: Annotated[
        Name,
        Setting(
            "classes.rows",
            "Name of the rows",
            "name of the rows",
            help="Plural noun for the rows of the test set, such as “comments”. By default, “rows”.",
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
        Date,
        Setting("dates.entry_deadline", "Entry deadline", "entry deadline", help=_USUAL, fixed=_OVER),
    ] = None
    merger_deadline: Annotated[
        Date,
        Setting("dates.merger_deadline", "Merger deadline", "merger deadline", help=_USUAL, fixed=_OVER),
    ] = None
    reveal_rule: Annotated[
        RevealRule,
        Kind.CHOICE,
        Setting(
            "dates.reveal",
            "Who reveals the private leaderboard",
            "rule of the reveal",
            fixed=_REVEALED,
            choices={
                RevealRule.DATE: "automatically on a date, unless an organizer does it before",
                RevealRule.ORGANIZER: "only an organizer",
            },
        ),
    ] = RevealRule.DATE
    reveals_at: Annotated[
        Date,
        Setting(
            "dates.reveals",
            "Date of the reveal",
            "date of the reveal",
            help="By default, 7 days after the close.",
            fixed=_REVEALED,
        ),
    ] = None
    entry_mode: Annotated[
        EntryMode,
        Kind.CHOICE,
        Setting(
            "entry.mode",
            "Who may join",
            "entry mode",
            choices={
                EntryMode.OPEN: "anybody with an account",
                EntryMode.CODE: "anyone who knows the code",
                EntryMode.APPROVAL: "people whom an organizer admits",
            },
        ),
    ] = EntryMode.OPEN
    entry_code: Annotated[
        str | None,
        Kind.LINE,
        Field(max_length=64),
        Setting("entry.code", "Code", "entry code", help="Only needed for entry by code."),
    ] = None
    max_team_size: Annotated[
        Count,
        Setting(
            "entry.team_size",
            "Members per team",
            "team size",
            help="With 1, there are no teams.",
            public="maximum team size",
        ),
    ] = 5
    max_daily_submissions: Annotated[
        Limit,
        Setting(
            "limits.daily", "Submissions per UTC day", "daily limit", public="limit of submissions per day"
        ),
    ] = 5
    max_total_submissions: Annotated[
        Limit,
        Setting(
            "limits.total", "Submissions in total", "total limit", public="limit of submissions in total"
        ),
    ] = None
    max_pending_submissions: Annotated[
        Count,
        Setting(
            "limits.pending",
            "Pending submissions at once",
            "limit of pending submissions",
            public="limit of pending submissions",
        ),
    ] = 5
    max_hourly_rejections: Annotated[
        Count,
        Setting(
            "limits.rejections_an_hour",
            "Rejected files per hour",
            "hourly limit of rejected files",
            public="limit of rejected files per hour",
        ),
    ] = 30
    selection_count: Annotated[
        Count,
        Setting(
            "limits.selections",
            "Selected submissions",
            "number of selected submissions",
            help="The best of them counts on the private leaderboard.",
            public="number of selected submissions",
            fixed=_OVER,
        ),
    ] = 2
    takes_late_submissions: Annotated[
        Check,
        Setting(
            "limits.late",
            "Score files sent after the reveal as late submissions, without a rank",
            "choice of late submissions",
            help="From late scores on both splits people can work out the labels.",
        ),
    ] = True
    marks_ties: Annotated[
        Check,
        Setting(
            "limits.ties",
            "Mark statistically tied teams after the reveal",
            "choice of marked ties",
            help="A worker compares the first 100 teams, each with the team above. Ranks do not change.",
            fixed=_REVEALED,
        ),
    ] = True
    identities: Annotated[
        Names,
        Setting(
            "metric.identities",
            "Columns of the solution",
            "choice of identities",
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
            help="Propose identities with at least this many rows of each class in each split.",
            fixed=_METRIC,
        ),
    ] = MIN_CLASS_ROWS
    metric: Annotated[
        MetricSettings, Setting("metric", "Formula", "formula of the metric", fixed=_METRIC)
    ] = Field(default_factory=MetricSettings)
    overview: Annotated[
        Text,
        Setting("texts.overview", "Overview", "overview", help="Markdown."),
    ] = ""
    evaluation: Annotated[
        Text,
        Setting(
            "texts.evaluation",
            "Evaluation",
            "text on the evaluation",
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
            "text of the rules",
            help="People must accept the rules to join, and again when the rules change. Markdown.",
        ),
    ] = ""
    data_description: Annotated[
        Text,
        Setting("texts.data", "Data", "text on the data", help="Shown above the list of files. Markdown."),
    ] = ""

    def changed(self, **changes: Any) -> Self:
        """Return changed settings, unchecked; see `problems`."""
        return self.model_copy(update=changes)

    @property
    def metric_choice(self) -> MetricChoice:
        """The settings that a solution is checked with."""
        return MetricChoice(
            identities=self.identities, min_class_rows=self.min_class_rows, metric=self.metric
        )


# The formula is one setting with these parts; each has its own input and, but for the weights, its own key.
WEIGHTS = {
    "overall_auc": Setting("metric.weights", "Overall AUC"),
    "subgroup_auc": Setting("metric.weights", "Subgroup AUC"),
    "bpsn_auc": Setting("metric.weights", "BPSN AUC"),
    "bnsp_auc": Setting("metric.weights", "BNSP AUC"),
}
METRIC_PARTS = {
    "power": Setting(
        "metric.power",
        "Power p of the means",
        help="-5 stays close to the weakest identity. inf and -inf are allowed.",
    ),
    "label_threshold": Setting(
        "metric.label_threshold", "Threshold of the label", help="A row is positive at this value or above."
    ),
    "identity_threshold": Setting(
        "metric.identity_threshold",
        "Threshold of identities",
        help="A row mentions an identity at this value or above.",
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
FOLLOWING_DATES = ("entry_deadline", "merger_deadline", "reveals_at")  # by default they follow the close
