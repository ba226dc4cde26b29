"""Changed rows of a corrected solution: which labels, identities and Usage differ."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files import RowIds
from grader.files.solution.canonical_form import USAGE_NAMES
from grader.services.solutions.assessment import LiveSolution
from grader.services.solutions.truth import Truth
from grader.text import csv_lines

MOST_SHOWN = 50
COLUMNS = ("id", "column", "before", "after")


@dataclass(frozen=True, eq=False)
class Change:
    """The rows in which one column differs: their places in the corrected solution, both values as text.

    `is_decisive` tells per row whether the change crosses the threshold; every move of Usage does.
    """

    column: str
    rows: NDArray[np.intp]
    before: list[str]
    after: list[str]
    is_decisive: NDArray[np.bool_]


def compare(
    live: LiveSolution, truth: Truth, *, positions: NDArray[np.intp], label: str, usage: str | None
) -> tuple[Change, ...]:
    """Return every column with rows that differ: the label, the identities, Usage.

    `positions` says where each row of the corrected solution stands in the live one.
    """
    metric = live.rules.metric
    found = [_numbers(label, live.truth.labels[positions], truth.labels, metric.label_threshold)]
    for name in live.truth.identities:
        if name in truth.identities:
            before = live.truth.identities[name][positions]
            found.append(_numbers(name, before, truth.identities[name], metric.identity_threshold))
    found.append(_usage(usage or "Usage", live.truth.usage[positions], truth.usage))
    return tuple(change for change in found if change.rows.size)


def summary(
    changes: tuple[Change, ...], row_ids: RowIds, live: LiveSolution, truth: Truth, usage: str | None
) -> dict[str, Any]:
    """Return the changes as JSON-ready data: counts of each column, the first ids, and what they expose."""
    rows = np.unique(np.concatenate([np.empty(0, np.intp), *(change.rows for change in changes)]))
    moves = next((_moves(change) for change in changes if change.column == (usage or "Usage")), {})
    return {
        "rows": int(rows.size),
        "row_ids": row_ids.at(rows[:MOST_SHOWN].tolist()),
        "columns": [
            {
                "column": change.column,
                "rows": int(change.rows.size),
                "decisive": int(np.count_nonzero(change.is_decisive)),
                "row_ids": row_ids.at(change.rows[:MOST_SHOWN].tolist()),
            }
            for change in changes
        ],
        "moves": moves,
        "exposed_rows": sum(
            moves.get(f"{before} to {after}", 0)
            for before, after in (("Public", "Private"), ("Private", "Public"))
        ),
        "new_columns": [name for name in truth.identities if name not in live.truth.identities],
        "lost_columns": [name for name in live.truth.identities if name not in truth.identities],
    }


def as_csv(changes: tuple[Change, ...], row_ids: RowIds) -> bytes:
    """Return one line per changed value: id, column, before, after."""
    return csv_lines([COLUMNS, *_lines(changes, row_ids)], line_end="\n").encode()


def _lines(changes: tuple[Change, ...], row_ids: RowIds) -> Iterator[tuple[str, str, str, str]]:
    for change in changes:
        ids = row_ids.at(change.rows.tolist())
        for row_id, before, after in zip(ids, change.before, change.after, strict=True):
            yield row_id, change.column, before, after


def _numbers(
    column: str, before: NDArray[np.float64], after: NDArray[np.float64], threshold: float
) -> Change:
    differs = (before != after) & ~(np.isnan(before) & np.isnan(after))
    rows = np.flatnonzero(differs)
    old, new = before[rows], after[rows]
    return Change(column, rows, _texts(old), _texts(new), (old >= threshold) != (new >= threshold))


def _usage(column: str, before: NDArray[np.int8], after: NDArray[np.int8]) -> Change:
    rows = np.flatnonzero(before != after)
    old, new = ([USAGE_NAMES[code] for code in each[rows]] for each in (before, after))
    return Change(column, rows, old, new, np.ones(rows.size, np.bool_))


def _texts(values: NDArray[np.float64]) -> list[str]:
    return ["" if value != value else repr(value) for value in values.tolist()]


def _moves(change: Change) -> Mapping[str, int]:
    moves: dict[str, int] = {}
    for before, after in zip(change.before, change.after, strict=True):
        moves[f"{before} to {after}"] = moves.get(f"{before} to {after}", 0) + 1
    return moves
