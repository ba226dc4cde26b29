"""Metric step of the setup: identity selection and validation."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from flask import url_for

from grader.models import Competition, CompetitionState, JobState, OrganizerJob
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import Rules
from grader.services.competitions.metric import of as metric_of
from grader.services.competitions.settings_model import METRIC, CompetitionSettings
from grader.services.leaderboards import rows
from grader.services.rescoring import versions
from grader.services.site import organizer_jobs
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import Candidate

# Settings that have text fields only until a solution provides identities to select.
UNTICKED = ("identities", "min_class_rows")


@dataclass(frozen=True, slots=True)
class TickLine:
    """A row of the identity table: checkbox, and rows by class and split."""

    name: str
    cells: tuple[tuple[int, int], ...]
    is_ticked: bool
    is_refused: bool
    why_not: str


@dataclass(frozen=True, slots=True)
class PendingChoice:
    """The check of metric settings that are not in use yet."""

    id: int
    state: str
    doing: str
    problems: tuple[str, ...]
    identities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ticks:
    """The identity table of the metric step."""

    splits: tuple[str, ...]
    proposed: tuple[TickLine, ...]
    others: tuple[TickLine, ...]
    pending: PendingChoice | None

    @property
    def ticked_count(self) -> int:
        """Number of selected identities."""
        return sum(line.is_ticked for line in (*self.proposed, *self.others))


def of(
    session: Any,
    competition: Competition,
    settings: CompetitionSettings,
    *,
    sent: Sequence[str] | None = None,
) -> Ticks | None:
    """Return the identity table; None if there is no solution or the competition is not a draft.

    `sent` contains the names in a submitted form, which stay selected.
    """
    described = report(session, competition)
    if described is None:
        return None
    found = check_jobs.candidates(described, min_class_rows=settings.min_class_rows)
    job = pending_check(session, competition)
    names = _chosen(found, settings, job) if sent is None else sent
    lines = [_line(each, described["splits"], names) for each in found]
    return Ticks(
        splits=tuple(described["splits"]),
        proposed=tuple(line for line in lines if not line.why_not),
        others=tuple(line for line in lines if line.why_not),
        pending=None if job is None else _pending(job),
    )


def report(session: Any, competition: Competition) -> Mapping[str, Any] | None:
    """Return the report with the identities; None after publication, when the metric is fixed."""
    if competition.state is not CompetitionState.DRAFT or not metric_of(competition).form.takes_identities:
        return None
    return check_jobs.newest_report(session, competition=competition)


def groups_report(session: Any, competition: Competition) -> Mapping[str, Any] | None:
    """Return the report with the groups of rows, which metrics other than that of bias have."""
    if metric_of(competition).form.takes_identities:
        return None
    return check_jobs.newest_report(session, competition=competition)


def group_lines(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the groups with their rows, the groups in the score first."""
    return sorted(report.get("groups", ()), key=lambda line: not line["in_score"])


def chosen(
    ticks: Iterable[str], settings: CompetitionSettings, described: Mapping[str, Any]
) -> tuple[str, ...] | None:
    """Return the selected identities, in the stored order if the selection is unchanged."""
    names = tuple(dict.fromkeys(ticks))
    proposed = {line["name"] for line in described["identities"] if line["in_score"]}
    before = settings.identities
    if set(names) == (proposed if before is None else set(before)):
        return before
    return names


def pending_check(session: Any, competition: Competition) -> OrganizerJob | None:
    """Return the newest check of new metric settings for a draft's solution."""
    if competition.live_scoring_version is None:
        return None
    return check_jobs.newest_settings_check(session, competition=competition)


def _chosen(
    found: Sequence[Candidate], settings: CompetitionSettings, job: OrganizerJob | None
) -> Sequence[str]:
    if job is not None:
        return check_jobs.asked_settings(job).rules.identities
    return settings.identities or [each.name for each in found if each.is_in_score]


def _line(candidate: Candidate, splits: Iterable[str], ticked: Sequence[str]) -> TickLine:
    cells = (
        (candidate.positives[split], candidate.negatives[split])
        for split in splits
        if split in candidate.positives
    )
    return TickLine(
        name=candidate.name,
        cells=tuple(cells),
        is_ticked=candidate.name in ticked and not candidate.is_refused,
        is_refused=candidate.is_refused,
        why_not=candidate.why_not,
    )


def _pending(job: OrganizerJob) -> PendingChoice:
    problems = tuple(problem["message"] for problem in job.problems)
    if job.state is JobState.FAILED:
        problems = ("The check failed because of a server error. Save again to repeat it.",)
    return PendingChoice(
        id=job.id,
        state="open" if organizer_jobs.is_open(job) else "done" if job.state is JobState.DONE else "refused",
        doing=job.progress.get("words", "Waiting for a worker"),
        problems=problems,
        identities=check_jobs.asked_settings(job).rules.identities,
    )


@dataclass(frozen=True, slots=True)
class Told:
    """The message after saving, and the page to show; `goes_on` continues to the next step."""

    words: str
    url: str
    goes_on: bool = False


class Saved(NamedTuple):
    """The changed settings, and a message if the metric settings changed."""

    changed: frozenset[str]
    told: Told | None = None


def save_scored(act: Act, changes: Mapping[str, Any]) -> Saved:
    """Save what is scored; a draft's newest solution is checked again if the metric changed."""
    changed = rows.change_settings(act, changes=changes)
    if "metric" not in changed:
        return Saved(changed)
    choice = competition_settings.of(act.competition).metric_choice
    job = check_jobs.check_choice(**act.parts, choice=choice)
    if job is None:
        return Saved(changed)
    url = url_for("organize_solution.show", slug=act.competition.slug, job_id=job.id)
    return Saved(changed, Told("Saved. The solution is being checked with your new metric.", url))


def save(act: Act, changes: Mapping[str, Any]) -> Saved:
    """Save the step.

    The live solution and its metric stay in use until the check of the new metric settings is accepted.
    Saving the same settings again accepts them.
    """
    session, competition = act.session, act.competition
    if report(session, competition) is None:
        return Saved(rows.change_settings(act, changes=changes))
    before = competition_settings.of(competition)
    after = before.changed(**changes)
    is_other = after.metric_choice != before.metric_choice
    if competition.live_scoring_version is None:
        changed = rows.change_settings(act, changes=changes)
        job = check_jobs.check_choice(**act.parts, choice=after.metric_choice) if is_other else None
        if job is None:
            return Saved(changed)
        url = url_for("organize_solution.show", slug=competition.slug, job_id=job.id)
        words = "Saved. The solution is being checked with your new metric settings."
        return Saved(changed, Told(words, url))
    rest = {name: value for name, value in changes.items() if name not in METRIC}
    changed = rows.change_settings(act, changes=rest)
    pending = pending_check(session, competition)
    if not is_other:
        if pending is not None:
            organizer_jobs.dismiss(session, job=pending, now=act.now)
        return Saved(changed)
    url = url_for("organize_settings.show", slug=competition.slug, step="metric")
    rules = Rules(identities=after.identities or (), metric=after.metric)
    if pending is not None and check_jobs.asked_settings(pending).rules == rules:
        if pending.state is JobState.DONE:
            versions.accept_settings(act, job_id=pending.id)
            return Saved(changed, Told("Saved. Your new metric settings are now in use.", url, goes_on=True))
        if organizer_jobs.is_open(pending):
            return Saved(changed, Told("Your new metric settings are still being checked.", url))
    check_jobs.check_choice(**act.parts, choice=after.metric_choice)
    return Saved(changed, Told("Your new metric settings are being checked against the solution.", url))
