"""View model of the solution check and its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response

from fairboard.bias.leaks import by_chance
from grader.files import ColumnRole
from grader.models import JobState, OrganizerJob, Split
from grader.services.site import organizer_jobs
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import CheckParameters, Purpose
from grader.services.solutions.report import identity_lines
from grader.services.solutions.report_warnings import Level
from webapp.http.responses import polled

SPLIT_BY = {
    "usage": "by the column Usage",
    "keyed hash": "in half by a secret hash, stratified by label and group",
    "live solution": "as in the live solution",
}
STATES = {
    JobState.WAITING: "waiting",
    JobState.CLAIMED: "checking",
    JobState.DONE: "checked",
    JobState.REJECTED: "unreadable",
    JobState.FAILED: "failed",
}
# Checks use the same pills as submissions because they have the same states.
PILLS = {
    JobState.WAITING: "pending",
    JobState.CLAIMED: "pending",
    JobState.DONE: "scored",
    JobState.REJECTED: "rejected",
    JobState.FAILED: "failed",
}
LEVEL_WORDS = {Level.STOP: "Problems to fix", Level.WARNING: "Warnings", Level.NOTE: "Good to know"}
ROLES = tuple(role.value for role in ColumnRole)
NAMED_ROLES = tuple(
    role.value
    for role in (ColumnRole.ID, ColumnRole.LABEL, ColumnRole.SLICE, ColumnRole.USAGE, ColumnRole.UNUSED)
)
MOST_CLASSES = 20
# Roles that follow unambiguously from a column's name or values. Their menus are collapsed.
CLEAR = frozenset({ColumnRole.ID, ColumnRole.LABEL, ColumnRole.USAGE, ColumnRole.IDENTITY})


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column of the solution with its role, and the name of its form field."""

    field: str
    name: str
    role: str
    examples: str
    is_clear: bool


@dataclass(frozen=True, slots=True)
class IdentityView:
    """An identity's counts on each split."""

    name: str
    is_in_score: bool
    counts: tuple[int, ...]


class ReportView:
    """The report of a solution."""

    def __init__(self, report: Mapping[str, Any]) -> None:
        self.targets = [_target(each) for each in report.get("targets", ())]
        self.groups = sorted(report.get("groups", ()), key=lambda line: not line["in_score"])
        self.has_identities = not self.targets
        self.identity_lines = identity_lines(report) if self.has_identities else []
        self.label = report["label"]
        self.unused = report["unused_columns"]
        self.kept = [*report["other_labels"], *(each["name"] for each in report["slices"])]
        self.kept += [report["pair"]] if report["pair"] else []
        self.split_by = SPLIT_BY.get(report["split_by"], report["split_by"])
        self.rows = report["rows"]
        self.ignored_rows = report["ignored_rows"]
        self.splits = [_split(name, split) for name, split in report["splits"].items()]
        self.identities = [_identity(line, list(report["splits"])) for line in report["identities"]]
        self.levels = [
            (level.value, words, [each["message"] for each in report["findings"] if each["level"] == level])
            for level, words in LEVEL_WORDS.items()
        ]
        self.leaks = [{**leak, "chance": by_chance(leak["error"])} for leak in report["leaks"]]


def _target(target: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return a target's column and, for each split, its numbers or the rows of its classes as text."""
    lines = []
    for split in Split:
        facts = target[split.value]
        shown = [f"{name}: {value:,.5g}" for name, value in list(facts.items())[:MOST_CLASSES]]
        more = f"; {len(facts) - MOST_CLASSES:,} more" if len(facts) > MOST_CLASSES else ""
        lines.append((split.value.capitalize(), "; ".join(shown) + more))
    return target["column"], lines


class CheckView:
    """A job that checks a solution."""

    def __init__(self, job: OrganizerJob) -> None:
        result = job.result or {}
        self.id = job.id
        asked = CheckParameters.from_dict(job.parameters)
        self.file_name, self.size_bytes = asked.file.name, asked.file.size_bytes
        self.has_identities = asked.choice.form.takes_identities
        self.roles = ROLES if self.has_identities else NAMED_ROLES
        self.test_name = None if asked.test is None else asked.test.name
        self.is_correction = asked.purpose is Purpose.CORRECTED
        self.created_at = job.created_at
        self.created_by = job.created_by.name if job.created_by else "the system"
        is_stopped = job.state is JobState.DONE and not result["solution"]
        self.state = "problems to fix" if is_stopped else STATES[job.state]
        self.pill = "rejected" if is_stopped else PILLS[job.state]
        self.is_open = organizer_jobs.is_open(job)
        self.is_failed = job.state is JobState.FAILED
        self.incident = job.incident
        self.done, self.total = job.progress.get("done", 0), job.progress.get("total", 0)
        self.doing = job.progress.get("words", "Waiting for a worker")
        self.problems = [*job.problems, *result.get("problems", [])]
        report = result.get("report") or {}
        self.report = ReportView(report) if report else None
        # Without a report, every role is doubtful. A column that nearly fits a role may be misclassified.
        missed = [each["name"] for each in report.get("near_misses", ())]
        doubtful = missed if report else [column["name"] for column in result.get("columns", [])]
        self.columns = [
            ColumnView(
                f"role-{place}",
                column["name"],
                column["role"],
                ", ".join(column["examples"]),
                is_clear=column["role"] in CLEAR and column["name"] not in doubtful,
            )
            for place, column in enumerate(result.get("columns", []))
        ]
        self.are_guessed = result.get("are_guessed", False)
        self.changes = result.get("changes")
        self.is_usable = bool(result.get("solution"))
        self.commitment = check_jobs.commitment(job)


def chosen_roles(job: OrganizerJob, form: Mapping[str, str]) -> dict[str, str]:
    """Return the column roles from a form; a column without a field keeps its role."""
    return {column.name: form.get(column.field, column.role) for column in CheckView(job).columns}


def check_status(job: OrganizerJob | None) -> Response:
    """Return the state of a check as JSON, for the page that polls it."""
    if job is None:
        return polled({"is_final": True})
    is_final = not organizer_jobs.is_open(job)
    return polled({"state": job.state.value, "progress": job.progress, "is_final": is_final})


def _split(name: str, split: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name.capitalize(),
        "rows": split["rows"],
        "positives": split["positives"],
        "share": f"{split['positives'] / split['rows']:.1%}" if split["rows"] else "",
        "unannotated": split["unannotated"],
    }


def _identity(line: Mapping[str, Any], splits: list[str]) -> IdentityView:
    return IdentityView(
        name=line["name"],
        is_in_score=line["in_score"],
        counts=tuple(line[split][kind] for split in splits for kind in ("positives", "negatives")),
    )
