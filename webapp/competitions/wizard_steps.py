"""Setup wizard steps: order, setting groups, missing items, suggestions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from flask import url_for

from grader.metrics import registry
from grader.models import Competition, CompetitionState
from grader.services.competitions import lifecycle, settings_warnings
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import WEIGHTS, CompetitionSettings
from grader.services.competitions.settings_problems import Fault
from grader.services.solutions import data_files as files
from grader.services.submissions import benchmark_entries


@dataclass(frozen=True, slots=True)
class SettingsStep:
    """A settings page: groups of settings with headings, some folded; `helps` overrides help texts."""

    key: str
    title: str
    groups: tuple[tuple[str, tuple[str, ...]], ...]
    helps: Mapping[str, str] = field(default_factory=dict)
    folded: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all settings on the page."""
        return tuple(name for _, names in self.groups for name in names)


SCORED = "scored"
_FORMULA = (
    ("Power and thresholds", ("power", "label_threshold", "identity_threshold")),
    ("Weights (must sum to 1)", tuple(WEIGHTS)),
)
_IDENTITIES = "Identities in the score"
_BOARDS = "More leaderboards"
_CLASS_NAMES = ("positive_name", "negative_name")
STEPS = (
    SettingsStep(
        "basics",
        "Basics and texts",
        (
            ("", ("title", "overview")),
            ("Texts on the metric and the data", ("evaluation", "data_description")),
            ("Names of the classes and rows", (*_CLASS_NAMES, "row_name")),
            ("Questions", ("contact", "discussion_url")),
            ("Appearance", ("color", "stage_name")),
        ),
        folded=(
            "Texts on the metric and the data",
            "Names of the classes and rows",
            "Appearance",
        ),
    ),
    SettingsStep(
        SCORED,
        "What is scored?",
        (
            ("", (registry.TAG,)),
            (
                "Options of the metric",
                ("target", "columns", "classes", "positive", "cutoff", "weight", "reported"),
            ),
        ),
        folded=("Options of the metric",),
    ),
    SettingsStep(
        "dates",
        "Dates and limits",
        (
            ("Dates", ("opens_at", "closes_at")),
            ("", ("reveal_rule",)),
            ("Limits per team", ("max_daily_submissions", "selection_count")),
            ("Other dates", ("entry_deadline", "merger_deadline", "reveals_at")),
            ("After the reveal", ("takes_late_submissions",)),
            ("More limits", ("max_total_submissions", "max_pending_submissions", "max_hourly_rejections")),
        ),
        folded=("Other dates", "After the reveal", "More limits"),
        helps=dict.fromkeys(("max_daily_submissions", "max_total_submissions"), "Blank means no limit."),
    ),
    SettingsStep(
        "entry",
        "Entry and teams",
        (
            ("", ("entry_mode", "entry_code", "max_team_size", "rules")),
            (
                "Divisions",
                ("divisions", "division_choice", "division_deadline"),
            ),
            ("Names", ("anonymity",)),
        ),
        folded=("Divisions", "Names"),
    ),
    SettingsStep(
        "metric",
        "Metric and feedback",
        (
            (_IDENTITIES, ("identities", "min_class_rows")),
            ("Feedback before the reveal", ("feedback", "feedback_step")),
            (_BOARDS, ("boards",)),
            *_FORMULA,
        ),
        helps={"identities": "One name per line. If blank, the solution check proposes them."},
        folded=(_BOARDS, *(heading for heading, _ in _FORMULA)),
    ),
)
BY_KEY = {step.key: step for step in STEPS}
# All steps of the wizard in order: the settings pages above, and three steps with pages of their own.
SOLUTION, DATA, PUBLISHING = "solution", "data", "publishing"
ORDER = ("basics", SCORED, "dates", "entry", SOLUTION, "metric", DATA, PUBLISHING)
# The metric settings that a rescoring may change: the names of the identities, and the formula.
RESCORING = SettingsStep(
    "rescoring",
    "Changed settings",
    ((_IDENTITIES, ("identities",)), *_FORMULA),
    helps={"identities": "One name per line."},
)


TITLES = {SOLUTION: "Solution", DATA: "Data files"}
SHORT = {"basics": "Basics", SCORED: "Metric", "dates": "Dates", "entry": "Entry", "metric": "Feedback"}
WAITS = "Accept the solution first. You can then select the identities from its report."


@dataclass(frozen=True, slots=True)
class Lack:
    """A missing item or a suggestion, as a sentence, with the URL of its field."""

    sentence: str
    url: str


@dataclass(frozen=True, slots=True)
class StepMark:
    """A step of the wizard with its mark; the steps of a published competition have no mark."""

    key: str
    title: str
    short: str
    url: str
    is_marked: bool = False
    missing: tuple[Lack, ...] = ()
    advice: tuple[Lack, ...] = ()

    @property
    def state(self) -> str:
        """The mark: `missing`, `advice`, `done` or empty."""
        if not self.is_marked:
            return ""
        return "missing" if self.missing else "advice" if self.advice else "done"

    @property
    def words(self) -> str:
        """The mark as text, for screen readers and lists."""
        counts = {"missing": len(self.missing), "advice": len(self.advice)}
        plural = "" if counts.get(self.state) == 1 else "s"
        told = {"missing": "missing", "advice": f"suggestion{plural}"}.get(self.state)
        return f"{counts[self.state]} {told}" if told else self.state


@dataclass(frozen=True, slots=True)
class Wizard:
    """All steps with their marks; `current` is the step of the page."""

    steps: tuple[StepMark, ...]
    current: StepMark

    @property
    def number(self) -> int:
        """The position of the current step, starting at 1."""
        return self.steps.index(self.current) + 1

    @property
    def following(self) -> StepMark | None:
        """The step after the current one, or None."""
        return self.steps[self.number] if self.number < len(self.steps) else None

    @property
    def lacking(self) -> list[StepMark]:
        """The steps with missing items, which prevent publication."""
        return [step for step in self.steps if step.missing]


def step_of(key: str, settings: CompetitionSettings) -> SettingsStep:
    """Return a settings page; the settings that belong to the bias metric are omitted for other metrics."""
    step = BY_KEY[key]
    if settings.metric_choice.form.takes_identities:
        return step
    of_bias = {
        *_CLASS_NAMES,
        "identities",
        "min_class_rows",
        *(name for _, names in _FORMULA for name in names),
    }
    groups = [
        (heading, tuple(name for name in names if name not in of_bias)) for heading, names in step.groups
    ]
    return replace(step, groups=tuple(group for group in groups if group[1]))


def wizard(session: Any, competition: Competition, *, now: datetime, current: str) -> Wizard:
    """Return the steps of a competition with their marks."""
    is_draft = competition.state is CompetitionState.DRAFT
    missing = list(_missing(session, competition, now)) if is_draft else []
    advice = list(_advice(session, competition, is_draft, now))
    steps = []
    for key in ORDER:
        lacks = tuple(_lacks(key, missing, competition.slug))
        if key == "metric" and is_draft and competition.live_scoring_version is None:
            lacks = (*lacks, Lack(WAITS, url_for("organize_solution.index", slug=competition.slug)))
        steps.append(
            StepMark(
                key=key,
                title=title(key, is_draft=is_draft),
                short=SHORT.get(key, title(key, is_draft=is_draft)),
                url=page(key, competition.slug),
                is_marked=is_draft and key != PUBLISHING,
                missing=lacks,
                advice=tuple(_lacks(key, advice, competition.slug)),
            )
        )
    return Wizard(tuple(steps), next(step for step in steps if step.key == current))


def title(key: str, *, is_draft: bool) -> str:
    """Return the title of a step."""
    if key == PUBLISHING:
        return "Review and publish" if is_draft else "State"
    return TITLES[key] if key in TITLES else BY_KEY[key].title


def page(key: str, slug: str) -> str:
    """Return the URL of a step."""
    if key in BY_KEY:
        return url_for("organize_settings.show", slug=slug, step=key)
    pages = {
        SOLUTION: "organize_solution.index",
        DATA: "organize_data.index",
        PUBLISHING: "organize_publishing.show",
    }
    return url_for(pages[key], slug=slug)


def next_page(key: str, slug: str) -> str:
    """Return the URL of the step that follows a step."""
    return page(ORDER[ORDER.index(key) + 1], slug)


def _missing(session: Any, competition: Competition, now: datetime) -> Iterable[Fault]:
    yield from lifecycle.missing(competition, now=now)
    yield from files.faults(session, competition=competition)


def _advice(session: Any, competition: Competition, is_draft: bool, now: datetime) -> Iterable[Fault]:
    yield from lifecycle.settings_suggestions(competition_settings.of(competition))
    yield from settings_warnings.small_step_warnings(competition)
    yield from settings_warnings.joined_names_warnings(competition)
    if is_draft:
        past = settings_warnings.date_warnings(competition, now)
        yield from (fault for fault in past if "closes_at" not in fault.names)
    lacks_baseline = is_draft and not benchmark_entries.list_all(session, competition=competition)
    yield from lifecycle.data_suggestions(session, competition=competition, lacks_baseline=lacks_baseline)


def _lacks(key: str, faults: Sequence[Fault], slug: str) -> Iterable[Lack]:
    for fault in faults:
        if _step_of(fault) == key:
            field = fault.names[0] if key in BY_KEY else ""
            yield Lack(fault.sentence, page(key, slug) + (f"#{field}" if field else ""))


def _step_of(fault: Fault) -> str:
    """Return the step where a fault can be fixed."""
    if files.DATA in fault.names:
        return DATA
    if lifecycle.SOLUTION in fault.names:
        return SOLUTION
    if "metric" in fault.names:
        return SCORED
    return next(step.key for step in STEPS if set(step.names) & set(fault.names))
