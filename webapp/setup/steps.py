"""Fields, labels, help and order of the competition settings form."""

from dataclasses import dataclass

from grader.models import EntryMode, RevealRule
from grader.services.competitions.conditions import ENTRY_CODE_MAX_LENGTH
from grader.services.competitions.settings import (
    CLASS_NAME_MAX_LENGTH,
    LINK_MAX_LENGTH,
    RULES_MAX_LENGTH,
    TEXT_MAX_LENGTH,
    TITLE_MAX_LENGTH,
)
from grader.visibility import Feedback


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form: the setting's name, its input, label and help.

    `kind` is one of line, text, count, limit, number, date, choice, check and names; a `limit`, a `date` and
    `names` may be left blank. `choices` are values with their words.
    """

    name: str
    kind: str
    label: str
    help: str = ""
    max_length: int = 0
    choices: tuple[tuple[str, str], ...] = ()
    default_time: str = "23:59"


@dataclass(frozen=True, slots=True)
class Step:
    """A page of fields, in groups with a heading each."""

    key: str
    title: str
    groups: tuple[tuple[str, tuple[Field, ...]], ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """All fields of the page."""
        return tuple(field for _, fields in self.groups for field in fields)


def _line(name: str, label: str, text: str, max_length: int) -> Field:
    return Field(name, "line", label, text, max_length)


def _text(name: str, label: str, text: str, max_length: int = TEXT_MAX_LENGTH) -> Field:
    return Field(name, "text", label, f"{text} Markdown.".lstrip(), max_length)


def _count(name: str, label: str, text: str = "") -> Field:
    return Field(name, "count", label, text)


def _limit(name: str, label: str) -> Field:
    return Field(name, "limit", label, "Blank is no limit.")


def _date(name: str, label: str, text: str, default_time: str = "23:59") -> Field:
    return Field(name, "date", label, text, default_time=default_time)


def _number(name: str, label: str, text: str = "") -> Field:
    return Field(name, "number", label, text)


_USUAL = "Left blank it is 7 days before the close; in a competition of a week or less, the close itself."
_OPEN = (
    "open: everybody sees the public score and its four terms, a team also the table of identities of its "
    "own submissions"
)

_BASICS = Step(
    "basics",
    "Basics and texts",
    (
        (
            "",
            (
                _line("title", "Title", "", TITLE_MAX_LENGTH),
                _text("overview", "Overview", ""),
                _text(
                    "evaluation", "Evaluation", "Stands above the metric, which the page describes itself."
                ),
                _text("data_description", "Data", "Stands above the files."),
            ),
        ),
        (
            "The two classes",
            (
                _line(
                    "positive_name",
                    "Name of the positive class",
                    "Such as “toxic”: rows whose label reaches the threshold.",
                    CLASS_NAME_MAX_LENGTH,
                ),
                _line("negative_name", "Name of the negative class", "", CLASS_NAME_MAX_LENGTH),
            ),
        ),
        (
            "Where people ask",
            (
                _line(
                    "contact",
                    "Contact",
                    "An e-mail address or a page; everybody sees it. May be blank.",
                    LINK_MAX_LENGTH,
                ),
                _line(
                    "discussion_url",
                    "Discussion",
                    "The address of a forum, beginning with https://. May be blank.",
                    LINK_MAX_LENGTH,
                ),
            ),
        ),
    ),
)

_DATES = Step(
    "dates",
    "Dates and limits",
    (
        (
            "Dates",
            (
                _date("opens_at", "Opens", "Left blank a draft opens when it is published.", "00:00"),
                _date("closes_at", "Closes", "Left blank it does not close by itself."),
                _date("entry_deadline", "Entry until", _USUAL),
                _date("merger_deadline", "Teams can grow and merge until", _USUAL),
            ),
        ),
        (
            "The reveal",
            (
                Field(
                    "reveal_rule",
                    "choice",
                    "The private leaderboard is revealed",
                    choices=(
                        (RevealRule.DATE.value, "at a date, unless an organizer does it before"),
                        (RevealRule.ORGANIZER.value, "by an organizer alone"),
                    ),
                ),
                _date("reveals_at", "Date of the reveal", "Left blank it is 7 days after the close."),
                Field(
                    "takes_late_submissions",
                    "check",
                    "Score files after the reveal as late submissions, on no board",
                    "With late scores on both splits the labels become recoverable.",
                ),
            ),
        ),
        (
            "Limits of a team",
            (
                _limit("max_daily_submissions", "Submissions a UTC day"),
                _limit("max_total_submissions", "Submissions in all"),
                _count("max_pending_submissions", "Waiting at once"),
                _count("max_hourly_rejections", "Rejected files an hour"),
                _count(
                    "selection_count",
                    "Selected submissions",
                    "The better one of them counts on the private leaderboard.",
                ),
            ),
        ),
    ),
)

_ENTRY = Step(
    "entry",
    "Entry and teams",
    (
        (
            "",
            (
                Field(
                    "entry_mode",
                    "choice",
                    "Who may join",
                    choices=(
                        (EntryMode.OPEN.value, "anybody with an account"),
                        (EntryMode.CODE.value, "whoever knows the code"),
                        (EntryMode.APPROVAL.value, "whom an organizer lets in"),
                    ),
                ),
                _line("entry_code", "Code", "Only for entry by code.", ENTRY_CODE_MAX_LENGTH),
                _count("max_team_size", "Members of a team", "1 makes a competition of single people."),
                _text(
                    "rules",
                    "Rules",
                    "Whoever joins accepts them, and accepts them again when they change.",
                    RULES_MAX_LENGTH,
                ),
            ),
        ),
    ),
)

_METRIC = Step(
    "metric",
    "Metric and feedback",
    (
        (
            "What participants see before the reveal",
            (
                Field(
                    "feedback",
                    "choice",
                    "Feedback",
                    choices=(
                        (Feedback.OPEN.value, _OPEN),
                        (Feedback.TERMS.value, "terms: the public score and its four terms, no tables"),
                        (Feedback.SCORE.value, "score: the public score alone"),
                    ),
                ),
            ),
        ),
        (
            "Identities in the score",
            (
                Field(
                    "identities",
                    "names",
                    "Columns of the solution",
                    "One name on each line. Left blank the solution's check proposes them.",
                ),
                _count(
                    "min_class_rows",
                    "Minimum size",
                    "How many rows of each class in each split a proposed identity has.",
                ),
            ),
        ),
        (
            "Power and thresholds",
            (
                _number(
                    "power",
                    "Power p of the means",
                    "-5 stays close to the weakest identity; inf and -inf are allowed.",
                ),
                _number("label_threshold", "Threshold of the label", "Positive at this value and above."),
                _number(
                    "identity_threshold", "Threshold of identities", "Mentioned at this value and above."
                ),
            ),
        ),
        (
            "Weights, which sum to 1",
            (
                _number("overall_auc", "Overall AUC"),
                _number("subgroup_auc", "Subgroup AUC"),
                _number("bpsn_auc", "BPSN AUC"),
                _number("bnsp_auc", "BNSP AUC"),
            ),
        ),
    ),
)

# What a rescoring may change of the metric: the identities by name, and the formula.
RESCORING = Step(
    "rescoring",
    "Changed settings",
    (
        (
            "Identities in the score",
            (Field("identities", "names", "Columns of the solution", "One name on each line."),),
        ),
        *_METRIC.groups[2:],
    ),
)
STEPS = (_BASICS, _DATES, _ENTRY, _METRIC)
BY_KEY = {step.key: step for step in STEPS}
