"""What an organizer reads about a solution that was taken in: columns, splits, identities and counts."""

from collections.abc import Mapping
from typing import Any

from grader.cli.alignment import aligned
from grader.services.solutions import StoredSolution

SPLIT_BY = {
    "usage": "by the column Usage",
    "keyed hash": "in half by a keyed hash, stratified by label and identity",
    "live solution": "as in the live solution",
}


def describe(solution: StoredSolution) -> str:
    """Return the report of a stored solution as lines for the shell."""
    report = solution.report
    lines = [
        f"Label: {report['label']}. Columns not used: {', '.join(report['unused_columns']) or 'none'}.",
        f"{report['rows']:,} rows, split {SPLIT_BY.get(report['split_by'], report['split_by'])}: "
        + ", ".join(_split_line(name, split) for name, split in report["splits"].items())
        + f"; {report['ignored_rows']:,} ignored.",
        "",
        *_table(report),
        "",
        f"In the score: {', '.join(solution.rules.identities)}.",
    ]
    if left_out := [line["name"] for line in report["identities"] if not line["in_score"]]:
        lines.append(f"Not in the score: {', '.join(left_out)}.")
    return "\n".join(lines)


def _split_line(name: str, split: Mapping[str, int]) -> str:
    return f"{name} {split['rows']:,} rows ({split['positives']:,} positive)"


def _table(report: Mapping[str, Any]) -> list[str]:
    cells = [["identity", *(f"{split} {kind}" for split in report["splits"] for kind in ("+", "-"))]]
    for line in report["identities"]:
        counts = [
            f"{line[split][kind]:,}" for split in report["splits"] for kind in ("positives", "negatives")
        ]
        cells.append([line["name"], *counts])
    return aligned(cells)
