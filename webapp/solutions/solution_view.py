"""View of the report on a solution."""

from collections.abc import Mapping
from typing import Any

from flask import Response

from fairboard.bias.leaks import by_chance
from grader.files import ColumnRole
from grader.models import JobState, OrganizerJob, Split
from grader.services.site import organizer_jobs
from grader.services.solutions.report import identity_lines
from grader.services.solutions.report_warnings import Level
from webapp.http.responses import polled

SPLIT_BY = {
    "usage": "by the column Usage",
    "keyed hash": "in half by a secret hash, stratified by label and group",
    "live solution": "as in the live solution",
}
# For each state of a check: its words, and the class of its pill, as for submissions.
STATES = {
    JobState.WAITING: ("waiting", "pending"),
    JobState.CLAIMED: ("checking", "pending"),
    JobState.DONE: ("checked", "scored"),
    JobState.REJECTED: ("unreadable", "rejected"),
    JobState.FAILED: ("failed", "failed"),
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


def _identity(line: Mapping[str, Any], splits: list[str]) -> dict[str, Any]:
    counts = [line[split][kind] for split in splits for kind in ("positives", "negatives")]
    return {"name": line["name"], "is_in_score": line["in_score"], "counts": counts}
