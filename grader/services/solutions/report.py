"""Solution reports: rows, identities, label leaks, changes from the live solution."""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairboard import MetricSettings
from fairboard.bias.leaks import Leak, Verdict, VisibleGroups, VisibleOrder
from grader.files import PublicTable, RowIds
from grader.files.reading.row_ids import as_integer
from grader.files.solution.canonical_form import USAGE_NAMES
from grader.services.solutions.truth import IGNORED, PUBLIC, Truth
from grader.text import csv_lines

ROW_NUMBER, TEST_ROW_NUMBER, ID = "row number", "row number in test.csv", "id"
MODULI = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 100)
LARGEST_INTEGER_DIGITS = 18  # any integer with this many digits fits into 64 bits

MOST_ODD_SHOWN = 20
LABEL, USAGE = "the label", "Usage"
MOST_ODD = 0.1  # share of the ids
FLOAT_DIGITS, LARGEST_EXACT_INTEGER = 16, 1 << 53  # 64-bit floats store larger integers only approximately
LEAST_LONG_IDS = 20  # that would not all fit into floats by chance
_FORMS = str.maketrans(string.digits + string.ascii_letters, "0" * 10 + "a" * 52)
_REPEATED = re.compile(r"(.)\1+", re.DOTALL)
_CONVERTED = re.compile(r"[0-9](?:\.[0-9]+)?[eE]\+?[0-9]+|[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}.*")
Told = Callable[[str], None]
MOST_SHOWN_CHANGES = 50
CHANGE_COLUMNS = ("id", "column", "before", "after")


@dataclass(frozen=True, eq=False)
class Visible:
    """A public value of `rows`, given as an order of the rows and as named groups of rows."""

    name: str
    rows: NDArray[np.intp]
    order: VisibleOrder
    groups: tuple[tuple[str, VisibleGroups], ...]


def visible(row_ids: RowIds, scored: NDArray[np.intp], test: PublicTable | None) -> Iterator[Visible]:
    """Yield the public values of scored rows: row number, id, and row number in test.csv."""
    yield _numbers(ROW_NUMBER, scored, scored)
    texts = row_ids.to_bytes().split(b"\n")[:-1]
    integers = _integers(row_ids, texts)
    if integers is None:
        places = np.empty(len(texts), np.int64)
        places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        yield Visible(ID, scored, VisibleOrder.of(places[scored]), ())
    else:
        yield _numbers(ID, integers[scored], scored)
    if test is not None and test.positions.size:
        is_scored = np.zeros(len(row_ids), np.bool_)
        is_scored[scored] = True
        rows = test.positions[is_scored[test.positions]]
        yield _numbers(TEST_ROW_NUMBER, np.arange(rows.size), rows)


def _integers(row_ids: RowIds, texts: Sequence[bytes]) -> NDArray[np.int64] | None:
    if not row_ids.are_integers or row_ids.longest > LARGEST_INTEGER_DIGITS:
        return None
    return np.array(texts).astype(np.int64)


def _numbers(name: str, values: NDArray[np.int64], rows: NDArray[np.intp]) -> Visible:
    groups = tuple(
        (f"{name} modulo {modulus}", VisibleGroups((values % modulus).astype(np.uint8))) for modulus in MODULI
    )
    return Visible(name, rows, VisibleOrder.of(values), groups)


def identity_lines(report: Mapping[str, Any]) -> list[str]:
    """Return sentences about the identities in the score and about those left out, with reasons."""
    names = [line["name"] for line in report["identities"] if line["in_score"]]
    counts = "1 identity is" if len(names) == 1 else f"{len(names)} identities are"
    lines = [f"{counts} in the score" + (f": {', '.join(names)}." if names else ".")]
    for each in report.get("left_out", ()):
        lines.append(f"Left out ({each['why']}): {', '.join(each['names'])}.")
    return lines


def alike_ids(row_ids: RowIds) -> list[str]:
    """Return ids that differ from another id only in case, zeros or ``.0``, which some tools change."""
    if row_ids.are_integers:
        return []
    first: dict[str, str] = {}
    alike = []
    for row_id in row_ids:
        plain = row_id.casefold().lstrip("0").removesuffix(".0")
        if first.setdefault(plain, row_id) != row_id:
            alike.append(row_id)
    return alike[:MOST_ODD_SHOWN]


def odd_ids(row_ids: RowIds) -> dict[str, Any]:
    """Return the ids that a program may have changed: their number, the reason, and examples.

    An id is odd if nearly all others have another form, such as only digits. Dates and scientific notation
    are odd among any ids.
    """
    if row_ids.are_integers:
        numbers = [int(text) for text in row_ids] if row_ids.longest >= FLOAT_DIGITS else []
        long = [number for number in numbers if number > LARGEST_EXACT_INTEGER]
        are_rounded = all(each % 10 == 0 for each in long) or all(int(float(each)) == each for each in long)
        return _odd("rounded", [*map(str, long)] if are_rounded and len(long) >= LEAST_LONG_IDS else [])
    texts = list(row_ids)
    if decimals := [text for text in texts if "." in text and as_integer(text.encode()) is not None]:
        return _odd("decimals", decimals)
    forms = [_REPEATED.sub(r"\1", text.translate(_FORMS)) for text in texts]
    ((common, count),) = Counter(forms).most_common(1)
    is_common = count > (1 - MOST_ODD) * len(texts)
    damaged = [text for text in texts if _CONVERTED.fullmatch(text)]
    odd = [text for text, form in zip(texts, forms, strict=True) if is_common and form != common]
    odd += damaged if not odd and len(damaged) < MOST_ODD * len(texts) else []
    return _odd("odd", odd)


def _odd(why: str, ids: list[str]) -> dict[str, Any]:
    return {"why": why, "count": len(ids), "ids": ids[:MOST_ODD_SHOWN]}


def leaks(
    row_ids: RowIds,
    label: NDArray[np.bool_],
    usage: NDArray[np.int8],
    members: Mapping[str, NDArray[np.bool_]],
    test: PublicTable | None,
    tell: Told,
) -> Iterator[dict[str, Any]]:
    """Yield how well public values predict hidden values; for identities, only suspicious results."""
    for seen in visible(row_ids, np.flatnonzero(usage != IGNORED), test):
        tell(f"Checking whether the {seen.name} predicts hidden values")
        hidden = [(LABEL, label[seen.rows]), (USAGE, usage[seen.rows] == PUBLIC)]
        of_identities = ((name, mentions[seen.rows]) for name, mentions in members.items())
        for subject, values in chain(hidden, of_identities):
            leak = seen.order.leak(values)
            if leak and (subject in (LABEL, USAGE) or leak.verdict is not Verdict.CLEAN):
                yield _leak(seen.name, subject, leak)
        for subject, values in hidden:
            if told := _by_groups(seen, values):
                yield _leak(told[0], subject, told[1])


def _by_groups(seen: Visible, hidden: NDArray[np.bool_]) -> tuple[str, Leak] | None:
    """Return the name and the leak of the grouping that best predicts a hidden value, or None."""
    leaks = ((name, groups.leak(hidden)) for name, groups in seen.groups)
    found = [(name, leak) for name, leak in leaks if leak and leak.verdict is not Verdict.CLEAN]
    return max(found, key=lambda each: round(each[1].auc, 2), default=None)


def _leak(visible: str, hidden: str, leak: Leak) -> dict[str, Any]:
    return {
        "visible": visible,
        "hidden": hidden,
        "auc": leak.auc,
        "error": leak.standard_error,
        "verdict": leak.verdict.value,
    }


def test_facts(test: PublicTable) -> dict[str, Any]:
    return {
        "columns": list(test.columns),
        "rows": int(test.positions.size),
        "problems": [problem.as_dict() for problem in test.problems],
    }


@dataclass(frozen=True, eq=False)
class ColumnChange:
    """The rows in which a column differs, with both values as text.

    `rows` are positions in the corrected solution. `is_decisive` states for each row whether the change
    crosses the threshold; it is always true for Usage.
    """

    column: str
    rows: NDArray[np.intp]
    before: list[str]
    after: list[str]
    is_decisive: NDArray[np.bool_]


def compare(
    live: Truth,
    truth: Truth,
    *,
    positions: NDArray[np.intp],
    settings: MetricSettings,
    label: str,
    usage: str | None,
) -> tuple[ColumnChange, ...]:
    """Return the changed columns; `positions` are the positions of the new rows in the live solution."""
    found = [_number_change(label, live.labels[positions], truth.labels, settings.label_threshold)]
    for name in live.identities:
        if name in truth.identities:
            before = live.identities[name][positions]
            found.append(_number_change(name, before, truth.identities[name], settings.identity_threshold))
    found.append(_usage_change(usage or "Usage", live.usage[positions], truth.usage))
    return tuple(change for change in found if change.rows.size)


def compare_texts(
    before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]
) -> tuple[ColumnChange, ...]:
    """Return the changed columns of rows in the same order, as texts; columns in only one are skipped."""
    changes = []
    for column in before.keys() & after.keys():
        old, new = np.array(before[column], object), np.array(after[column], object)
        rows = np.flatnonzero(old != new)
        is_decisive = np.ones(rows.size, np.bool_)
        changes.append(ColumnChange(column, rows, old[rows].tolist(), new[rows].tolist(), is_decisive))
    return tuple(sorted((each for each in changes if each.rows.size), key=lambda each: each.column))


def change_summary(
    changes: tuple[ColumnChange, ...], row_ids: RowIds, live: Truth, truth: Truth, usage: str | None
) -> dict[str, Any]:
    """Return the changes as JSON: counts by column, the first ids, and the moves between splits."""
    rows = np.unique(np.concatenate([np.empty(0, np.intp), *(change.rows for change in changes)]))
    moves = next((_moves(change) for change in changes if change.column == (usage or "Usage")), {})
    return {
        "rows": int(rows.size),
        "row_ids": row_ids.at(rows[:MOST_SHOWN_CHANGES].tolist()),
        "columns": [
            {
                "column": change.column,
                "rows": int(change.rows.size),
                "decisive": int(np.count_nonzero(change.is_decisive)),
                "row_ids": row_ids.at(change.rows[:MOST_SHOWN_CHANGES].tolist()),
            }
            for change in changes
        ],
        "moves": moves,
        "exposed_rows": sum(
            moves.get(f"{before} to {after}", 0)
            for before, after in (("Public", "Private"), ("Private", "Public"))
        ),
        "new_columns": [name for name in truth.identities if name not in live.identities],
        "lost_columns": [name for name in live.identities if name not in truth.identities],
    }


def changes_csv(changes: tuple[ColumnChange, ...], row_ids: RowIds) -> bytes:
    """Return a CSV file with a row for each changed value: id, column, before and after."""
    return csv_lines([CHANGE_COLUMNS, *_change_lines(changes, row_ids)], line_end="\n").encode()


def _change_lines(changes: tuple[ColumnChange, ...], row_ids: RowIds) -> Iterator[tuple[str, str, str, str]]:
    for change in changes:
        ids = row_ids.at(change.rows.tolist())
        for row_id, before, after in zip(ids, change.before, change.after, strict=True):
            yield row_id, change.column, before, after


def _number_change(
    column: str, before: NDArray[np.float64], after: NDArray[np.float64], threshold: float
) -> ColumnChange:
    differs = (before != after) & ~(np.isnan(before) & np.isnan(after))
    rows = np.flatnonzero(differs)
    old, new = before[rows], after[rows]
    is_decisive = (old >= threshold) != (new >= threshold)
    return ColumnChange(column, rows, number_texts(old), number_texts(new), is_decisive)


def _usage_change(column: str, before: NDArray[np.int8], after: NDArray[np.int8]) -> ColumnChange:
    rows = np.flatnonzero(before != after)
    old, new = ([USAGE_NAMES[code] for code in each[rows]] for each in (before, after))
    return ColumnChange(column, rows, old, new, np.ones(rows.size, np.bool_))


def number_texts(values: NDArray[np.float64]) -> list[str]:
    return ["" if value != value else repr(value) for value in values.tolist()]


def _moves(change: ColumnChange) -> Mapping[str, int]:
    return Counter(map("{} to {}".format, change.before, change.after))
