"""Competition view for pages and API: deadlines, countdown, metric."""

import csv
import io
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from fairboard.interface import LARGEST, Description, Direction, Exactness, Options
from grader.files.submission.columns import PredictedColumn
from grader.models import Competition, CompetitionState, RevealRule, Team
from grader.scored_files import predicted_columns
from grader.services.competitions import boards, phases
from grader.services.competitions.metric import NamedMetric, Rules, rules_of
from grader.services.competitions.settings_model import division_names
from grader.services.leaderboards import glance
from grader.services.teams import participations
from grader.visibility import Phase
from webapp.presentation import formats, terms


@dataclass(frozen=True, slots=True)
class Deadline:
    """The next relevant date, and its label."""

    words: str
    at: datetime


@dataclass(frozen=True, slots=True)
class MetricView:
    """The scoring on the Evaluation page.

    `columns` are those of a submission, with the possible values. `groups` are the groups or identities in
    the score. `command` scores a participant's own validation fold.
    """

    settings: NamedMetric
    about: Description
    columns: tuple[tuple[str, str], ...]
    groups: tuple[str, ...]
    command: str


class CompetitionView:
    """A competition as displayed at a given time; other attributes are those of the row."""

    def __init__(self, competition: Competition, now: datetime) -> None:
        self.row, self.now = competition, now
        self.is_staged = competition.previous_stage_id is not None or competition.next_stage_id is not None
        self.color = formats.color_class(competition.slug, competition.color)
        self.state = phases.state(competition, now)
        self.phase = phases.phase(competition, now)
        self.is_open = self.phase is Phase.OPEN
        self.is_revealed = self.phase is Phase.REVEALED
        self.is_settled = self.phase is Phase.CLOSED and phases.is_settled(competition)
        self.is_draft = competition.state is CompetitionState.DRAFT
        self.is_archived = competition.state is CompetitionState.ARCHIVED
        self.divisions = division_names(competition.divisions)
        self.is_entry_open = participations.is_entry_open(competition, now)
        self.reveals_at = None if self.is_revealed else phases.reveals_at(competition)
        self.must_ask = participations.must_ask(competition)
        self.entry_page = participations.entry_page(competition)
        self.is_blind = glance.shown_split(competition, now) is None
        self.feedback_note = "" if self.is_revealed else terms.feedback_mode(competition)
        self.chosen_for = terms.chosen_for(competition)
        self.scoring_rules = rules_of(competition)
        self._version = competition.live_scoring_version
        self.boards = boards.of(competition, self._version) if self._version else ()
        self.has_identities = self.scoring_rules.metric.takes_identities
        self.has_solution = self._version is not None
        solution = self._version.solution if self._version else None
        self.row_count = solution.row_count if solution else 0
        self.public_share = (
            formats.percent(solution.public_row_count, solution.public_row_count + solution.private_row_count)
            if solution
            else ""
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.row, name)

    def deadline(self, team: Team | None = None) -> Deadline | None:
        """Return the next date, for everyone or for a team that may have an extension."""
        if self.phase is Phase.SCHEDULED and self.opens_at and self.opens_at > self.now:
            return Deadline("opens", self.opens_at)
        closes_at = phases.closes_at(self.row, None if self.is_archived else team)
        if closes_at is None or (self.is_archived and closes_at > self.now):
            return None
        return Deadline("closes" if closes_at > self.now else "closed", closes_at)

    @property
    def summary(self) -> str:
        """A one-sentence summary of the competition."""
        about = self.metric.about
        default = f"Submissions are scored by {about.title}; the {about.direction} score is the best."
        return self.row.summary or default

    @property
    def python(self) -> Mapping[str, Any]:
        """The parameters of the metric if organizers wrote it, or else those of a new one."""
        known = self.scoring_rules.metric.python
        usual = {"title": "", "direction": "highest", "decimals": 5, "nonnegative": False, "arguments": {}}
        return usual | (known or {})

    def reveal_sentence(self, reveals_at: datetime | None) -> str:
        """Return a sentence that states who reveals the private leaderboard, and when."""
        if self.reveal_rule is RevealRule.ORGANIZER:
            return "The private leaderboard is revealed only by an organizer."
        when = f"on {formats.moment(reveals_at)}" if reveals_at else "7 days after the close"
        can_be_earlier = phases.selection_open_until(self.row, self.now) != (reveals_at or self.now)
        return (
            f"The private leaderboard is revealed automatically {when}, or later once everything is scored"
            f"{', unless an organizer reveals it earlier' if can_be_earlier else ''}."
        )

    @cached_property
    def metric(self) -> MetricView:
        """The scoring of the live version, or the planned scoring of a draft."""
        rules, metric = self.scoring_rules, self.scoring_rules.metric
        about = rules.about if self._version else _planned(metric)
        columns = predicted_columns(about, metric.options, (metric.id, metric.prediction)).columns
        groups = [f"{column} = {value}" for column, value in metric.scored_groups if metric.weight < 1]
        label = self._version.solution.report["label"] if self._version else "label"
        return MetricView(
            settings=metric,
            about=about,
            columns=tuple((column.name, _domain(column)) for column in columns),
            groups=(*rules.identities, *groups),
            command=_command(rules, label=label),
        )


def _command(rules: Rules, *, label: str) -> str:
    """Return the shell command that scores a participant's own fold as the server does."""
    metric = rules.metric
    if metric.takes_identities:
        formula = metric.formula
        options = {
            "label": label,
            "prediction": "prediction",
            "identities": _comma_separated(rules.identities),
            "power": repr(formula.power),
            "weights": ",".join(repr(weight) for weight in formula.weights.as_dict().values()),
            "threshold": repr(formula.label_threshold),
        }
        return _shell("fairboard score my_fold.csv", options)
    if metric.is_python:
        return ""
    parameters = metric.blank_options
    options = {
        "metric": metric.name,
        "label": metric.target or "",
        "columns": _comma_separated(parameters.columns),
        "classes": _comma_separated(parameters.classes),
        "positive": parameters.positive or "",
        "cutoff": str(parameters.cutoff) if parameters.cutoff != Options().cutoff else "",
        "groups": _comma_separated(metric.groups),
        "weight": f"{metric.weight:g}" if metric.weight < 1 else "",
        "reported": _comma_separated(metric.reported),
    }
    return _shell("fairboard score my_fold.csv my_predictions.csv", options)


def _planned(metric: NamedMetric) -> Description:
    """Describe the metric of a draft, which may still lack options."""
    if metric.problems():
        return Description(metric.name, "Not completely set up", Direction.HIGHEST, Exactness.OPAQUE, (), ())
    return metric.describe()


def _domain(column: PredictedColumn) -> str:
    """Return the possible values of a column, without limits that only prevent overflows."""
    if column.classes or column.is_text or column.highest < LARGEST:
        return column.domain
    return f"a number of at least {column.lowest:g}" if column.lowest > -LARGEST else "a number"


def _shell(command: str, options: Mapping[str, str]) -> str:
    words = (f"--{name} {shlex.quote(value)}" for name, value in options.items() if value)
    return " \\\n  ".join([command, *words])


def _comma_separated(names: Iterable[str]) -> str:
    """Return names as one CSV line."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()
