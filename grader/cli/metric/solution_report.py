"""Print a solution's report: columns, splits, identities with errors, warnings."""

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from grader.cli.alignment import aligned
from grader.services.solutions.findings import Level
from grader.services.solutions.intake import StoredSolution
from grader.services.solutions.report import identity_lines

SPLIT_BY = {
    "usage": "by the column Usage",
    "keyed hash": "in half by a keyed hash, stratified by label and identity",
    "live solution": "as in the live solution",
}
HEADINGS = {Level.STOP: "Problems to fix:", Level.WARNING: "Warnings:", Level.NOTE: "Good to know:"}
WIDTH = 100


def describe(solution: StoredSolution) -> str:
    """Return the report of a stored solution as lines for the shell."""
    return describe_report(solution.report)


def describe_report(report: Mapping[str, Any]) -> str:
    """Return a report as lines for the shell."""
    lines = [
        *identity_lines(report),
        f"Label: {report['label']}. {_kept(report)}"
        f"Columns not used: {', '.join(report['unused_columns']) or 'none'}.",
        f"{report['rows']:,} rows, split {SPLIT_BY.get(report['split_by'], report['split_by'])}: "
        + ", ".join(_split_line(name, split) for name, split in report["splits"].items())
        + f"; {report['ignored_rows']:,} ignored.",
        "",
        *_table(report),
        "(error: the largest standard error to expect of the identity's three AUCs, if they are "
        f"{report['assumed']['auc']:g})",
    ]
    return "\n".join([*lines, *_findings(report)])


def _findings(report: Mapping[str, Any]) -> Iterator[str]:
    for level, heading in HEADINGS.items():
        messages = [each["message"] for each in report["findings"] if each["level"] == level]
        if messages:
            yield f"\n{heading}"
        for message in messages:
            yield textwrap.fill(message, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _kept(report: Mapping[str, Any]) -> str:
    names = [*report["other_labels"], *(each["name"] for each in report["slices"])]
    names += [report["pair"]] if report["pair"] else []
    return f"Kept for diagnosis: {', '.join(names)}. " if names else ""


def _split_line(name: str, split: Mapping[str, int]) -> str:
    return f"{name} {split['rows']:,} rows ({split['positives']:,} positive)"


def _table(report: Mapping[str, Any]) -> list[str]:
    cells = [["identity", *(f"{split} {kind}" for split in report["splits"] for kind in ("+", "-", "error"))]]
    for line in report["identities"]:
        cells.append([line["name"]])
        for split in report["splits"]:
            cells[-1] += [f"{line[split][kind]:,}" for kind in ("positives", "negatives")]
            cells[-1].append(_largest(line["errors"][split]))
    return aligned(cells)


def _largest(errors: Mapping[str, float | None]) -> str:
    found = [error for error in errors.values() if error is not None]
    return f"{max(found):.3f}" if len(found) == len(errors) else "undefined"
