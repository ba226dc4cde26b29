"""What an organizer reads about a solution before anybody is scored: arrays in, JSON-ready data out."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.files import ColumnRoles, PublicTable, RowIds
from grader.files.categories import BLANK
from grader.metrics import MetricSettings, PreparedSplit
from grader.metrics.anatomy import CellCounts, Overlap, count_cells, near_threshold, overlaps, unannotated
from grader.metrics.expected_error import (
    ASSUMED_AUC,
    ASSUMED_CORRELATION,
    score_standard_error,
    swap_probability,
)
from grader.metrics.leaks import Leak, Verdict, VisibleOrder
from grader.models import Split
from grader.services.rules import Rules
from grader.services.truth import IGNORED, PUBLIC, Truth

SWAP_DIFFERENCE = 0.002
MOST_OVERLAPS = 20
LABEL, USAGE = "the label", "Usage"
ROW_NUMBER, TEST_ROW_NUMBER, ID = "row number", "row number in test.csv", "id"
HASHES = {"MD5 of the id": hashlib.md5, "SHA-256 of the id": hashlib.sha256}

Told = Callable[[str], None]


def describe(
    *,
    row_ids: RowIds,
    truth: Truth,
    roles: ColumnRoles,
    rules: Rules,
    split_by: str,
    test: PublicTable | None = None,
    tell: Told = lambda _: None,
) -> dict[str, Any]:
    """Return the report: columns, splits, identities with the errors to expect, thresholds, overlaps, leaks.

    `tell` is told in words what comes next; the leaks of a million rows take a while.
    """
    tell("Counting the rows of every identity")
    splits = {split: _prepared(truth, split, rules) for split in Split}
    blank = unannotated(truth.identities, len(row_ids))
    members = {name: values >= rules.metric.identity_threshold for name, values in truth.identities.items()}
    return {
        **_columns(roles),
        "split_by": split_by,
        "rows": len(row_ids),
        "ignored_rows": int(np.count_nonzero(truth.usage == IGNORED)),
        "unannotated_rows": int(np.count_nonzero(blank & (truth.usage != IGNORED))),
        "splits": {
            split.value: _split(prepared, rules.metric)
            | {"unannotated": int(np.count_nonzero(blank[truth.rows(split)]))}
            for split, prepared in splits.items()
        },
        "assumed": {
            "auc": ASSUMED_AUC,
            "correlation": ASSUMED_CORRELATION,
            "difference": SWAP_DIFFERENCE,
        },
        "identities": _identities(splits, rules),
        "thresholds": _thresholds(truth, roles, rules.metric),
        "overlaps": [_overlap(each) for each in overlaps(members)[:MOST_OVERLAPS]],
        "slices": [
            {"name": name, "values": len(each.values), "blank": int(np.count_nonzero(each.codes == BLANK))}
            for name, each in truth.slices.items()
        ],
        "pairs": None if truth.pair is None else len(truth.pair.values),
        "alike_ids": _alike_ids(row_ids),
        "leaks": list(_leaks(row_ids, truth, rules, members, test, tell)),
        "test": None if test is None else _test(test),
    }


def _columns(roles: ColumnRoles) -> dict[str, Any]:
    return {
        "id": roles.id,
        "label": roles.label,
        "usage": roles.usage,
        "other_labels": list(roles.other_labels),
        "pair": roles.pair,
        "unused_columns": list(roles.unused),
        "roles": {name: role.value for name, role in roles.by_column().items()},
    }


def _prepared(truth: Truth, split: Split, rules: Rules) -> PreparedSplit:
    return truth.prepare(
        split, identities=tuple(truth.identities), settings=rules.metric, in_score=rules.identities
    )


def _split(prepared: PreparedSplit, settings: MetricSettings) -> dict[str, Any]:
    error = score_standard_error(prepared, settings)
    return {
        "rows": prepared.rows,
        "positives": prepared.positives,
        "score_error": error,
        "swap_probability": None if error is None else swap_probability(SWAP_DIFFERENCE, error),
    }


def _identities(splits: Mapping[Split, PreparedSplit], rules: Rules) -> list[dict[str, Any]]:
    cells = {split: count_cells(prepared) for split, prepared in splits.items()}
    lines = []
    for of_splits in zip(*cells.values(), strict=True):
        by_split = dict(zip(cells, of_splits, strict=True))
        line: dict[str, Any] = {"name": of_splits[0].name, "in_score": of_splits[0].name in rules.identities}
        line |= {split.value: _counts(cell) for split, cell in by_split.items()}
        line["errors"] = {split.value: _errors(cell) for split, cell in by_split.items()}
        lines.append(line)
    return lines


def _counts(cell: CellCounts) -> dict[str, int]:
    return {"positives": cell.positives, "negatives": cell.negatives}


def _errors(cell: CellCounts) -> dict[str, float | None]:
    return {
        "subgroup_auc": cell.subgroup_error,
        "bpsn_auc": cell.bpsn_error,
        "bnsp_auc": cell.bnsp_error,
    }


def _overlap(overlap: Overlap) -> dict[str, Any]:
    return {
        "smaller": overlap.smaller,
        "larger": overlap.larger,
        "rows": overlap.rows,
        "share": overlap.share,
    }


def _thresholds(truth: Truth, roles: ColumnRoles, settings: MetricSettings) -> list[dict[str, Any]]:
    """Return the columns with values at the threshold or just below it; the label's always."""
    scored = truth.usage != IGNORED
    columns = [(roles.label, truth.labels, settings.label_threshold)]
    columns += [(name, values, settings.identity_threshold) for name, values in truth.identities.items()]
    lines = []
    for name, values, threshold in columns:
        found = near_threshold(values[scored], threshold)
        if name == roles.label or found.at or found.just_below:
            lines.append(
                {
                    "column": name,
                    "threshold": threshold,
                    "at": found.at,
                    "just_below": found.just_below,
                    "largest_below": found.largest_below,
                }
            )
    return lines


def _alike_ids(row_ids: RowIds) -> list[str]:
    """Return ids that differ from another only in case or leading zeros, which other tools mix up."""
    if row_ids.are_integers:
        return []
    first: dict[str, str] = {}
    alike = []
    for row_id in row_ids:
        plain = row_id.casefold().lstrip("0")
        if first.setdefault(plain, row_id) != row_id:
            alike.append(row_id)
    return alike[:MOST_OVERLAPS]


def _leaks(
    row_ids: RowIds,
    truth: Truth,
    rules: Rules,
    members: Mapping[str, NDArray[np.bool_]],
    test: PublicTable | None,
    tell: Told,
) -> Iterator[dict[str, Any]]:
    """Yield how what everybody sees orders what is hidden: label and Usage always, else what is not clean."""
    scored = np.flatnonzero(truth.usage != IGNORED)
    for name, order, rows in _visible(row_ids, scored, test):
        tell(f"Looking whether the {name} gives anything away")
        hidden: list[tuple[str, NDArray[np.bool_]]] = [
            (LABEL, truth.labels[rows] >= rules.metric.label_threshold),
            (USAGE, truth.usage[rows] == PUBLIC),
        ]
        for subject, values in hidden:
            if leak := order.leak(values):
                yield _leak(name, subject, leak)
        for identity, mentions in members.items():
            leak = order.leak(mentions[rows])
            if leak and leak.verdict is not Verdict.CLEAN:
                yield _leak(name, identity, leak)


def _visible(
    row_ids: RowIds, scored: NDArray[np.intp], test: PublicTable | None
) -> Iterator[tuple[str, VisibleOrder, NDArray[np.intp]]]:
    """Yield what everybody sees: its name, the order of the rows by it, and those rows."""
    yield ROW_NUMBER, VisibleOrder.of(scored), scored
    texts = row_ids.to_bytes().split(b"\n")[:-1]
    yield ID, VisibleOrder.of(_id_order(row_ids, texts)[scored]), scored
    for name, digest in HASHES.items():
        hashes = b"".join(digest(text, usedforsecurity=False).digest()[:8] for text in texts)
        yield name, VisibleOrder.of(np.frombuffer(hashes, ">u8")[scored].astype(np.uint64)), scored
    if test is not None and test.positions.size:
        is_scored = np.zeros(len(row_ids), np.bool_)
        is_scored[scored] = True
        rows = test.positions[is_scored[test.positions]]
        yield TEST_ROW_NUMBER, VisibleOrder.of(np.arange(rows.size)), rows


def _id_order(row_ids: RowIds, texts: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the ids as numbers, or where they are none their places in the order of their texts."""
    if row_ids.are_integers and row_ids.longest <= 18:
        return np.array(texts).astype(np.int64)
    places = np.empty(len(texts), np.int64)
    places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return places


def _leak(visible: str, hidden: str, leak: Leak) -> dict[str, Any]:
    return {
        "visible": visible,
        "hidden": hidden,
        "auc": leak.auc,
        "error": leak.standard_error,
        "verdict": leak.verdict.value,
    }


def _test(test: PublicTable) -> dict[str, Any]:
    return {
        "columns": list(test.columns),
        "rows": int(test.positions.size),
        "problems": [problem.as_dict() for problem in test.problems],
    }
