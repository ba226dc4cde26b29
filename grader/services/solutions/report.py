"""Solution reports: damaged ids, label leaks, findings, changes from the live solution."""

import enum
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairboard.bias.leaks import Verdict, group_leak, order_leak
from grader.files import PublicTable, RowIds
from grader.services.competitions import settings_warnings
from grader.services.solutions.truth import IGNORED, PUBLIC
from grader.text import counted, csv_lines, listed, quoted

ROW_NUMBER, TEST_ROW_NUMBER, ID = "row number", "row number in test.csv", "id"
MODULI = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 100)
LARGEST_INTEGER_DIGITS = 18  # any integer with this many digits fits into 64 bits
MOST_NAMED = 8
MOST_ODD_SHOWN = 20
MOST_SHOWN_CHANGES = 50
LABEL, USAGE = "the label", "Usage"
FLOAT_DIGITS, LARGEST_EXACT_INTEGER = 16, 1 << 53  # 64-bit floats store larger integers only approximately
LEAST_LONG_IDS = 20  # that would not all fit into floats by chance
# Scientific notation, integral decimals and dates, into which spreadsheets convert ids.
_CONVERTED = re.compile(
    r"[0-9](?:\.[0-9]+)?[eE]\+?[0-9]+|[0-9]+\.0*|[0-9]{1,4}([-/.])[0-9]{1,2}\1[0-9]{1,4}.*"
)
CHANGE_COLUMNS = ("id", "column", "before", "after")


class Level(enum.StrEnum):
    """The levels of findings: stops must be fixed, warnings need a decision, and notes only inform."""

    STOP = "stop"
    WARNING = "warning"
    NOTE = "note"


Finding = dict[str, str]


def finding(level: Level, code: str, message: str) -> Finding:
    """Return a finding as JSON data."""
    return {"level": level.value, "code": code, "message": message}


def stops(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings that must be fixed."""
    return [each for each in findings if each["level"] == Level.STOP]


def odd_ids(row_ids: RowIds) -> list[dict[str, Any]]:
    """Return how a program may have changed ids, with the number of such ids and examples."""
    odd: dict[str, list[str]] = {"rounded": [], "converted": [], "changed the case or zeros of": []}
    if row_ids.are_integers:
        numbers = [int(text) for text in row_ids] if row_ids.longest >= FLOAT_DIGITS else []
        long = [number for number in numbers if number > LARGEST_EXACT_INTEGER]
        are_rounded = all(each % 10 == 0 for each in long) or all(int(float(each)) == each for each in long)
        if are_rounded and len(long) >= LEAST_LONG_IDS:
            odd["rounded"] = [*map(str, long)]
    else:
        seen: set[str] = set()
        for row_id in row_ids:
            plain = row_id.casefold().lstrip("0").removesuffix(".0")
            if _CONVERTED.fullmatch(row_id):
                odd["converted"].append(row_id)
            elif plain in seen:  # differs from another id only in case, zeros or ".0"
                odd["changed the case or zeros of"].append(row_id)
            seen.add(plain)
    return [{"why": why, "count": len(ids), "ids": ids[:MOST_ODD_SHOWN]} for why, ids in odd.items() if ids]


class Visible(NamedTuple):
    """Public numbers of `rows`; the remainders of ids that are no integers have no meaning."""

    name: str
    rows: NDArray[np.intp]
    values: NDArray[np.int64]
    are_integers: bool = True


def visible(row_ids: RowIds, scored: NDArray[np.intp], test: PublicTable | None) -> Iterator[Visible]:
    """Yield the public values of scored rows: row number, id, and row number in test.csv."""
    yield Visible(ROW_NUMBER, scored, scored)
    texts = row_ids.text.split(b"\n")[:-1]
    if row_ids.are_integers and row_ids.longest <= LARGEST_INTEGER_DIGITS:
        yield Visible(ID, scored, np.array(texts).astype(np.int64)[scored])
    else:
        places = np.empty(len(texts), np.int64)
        places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        yield Visible(ID, scored, places[scored], are_integers=False)
    if test is not None and test.positions.size:
        rows = test.positions[np.isin(test.positions, scored)]
        yield Visible(TEST_ROW_NUMBER, rows, np.arange(rows.size))


def leaks(
    row_ids: RowIds,
    label: NDArray[np.bool_],
    usage: NDArray[np.int8],
    members: Mapping[str, NDArray[np.bool_]],
    test: PublicTable | None,
) -> Iterator[dict[str, Any]]:
    """Yield how well public values predict hidden values; for identities, only suspicious results."""
    for seen in visible(row_ids, np.flatnonzero(usage != IGNORED), test):
        hidden = [(LABEL, label[seen.rows]), (USAGE, usage[seen.rows] == PUBLIC)]
        of_identities = ((name, mentions[seen.rows]) for name, mentions in members.items())
        for subject, values in chain(hidden, of_identities):
            leak = order_leak(seen.values, values)
            if leak and (subject in (LABEL, USAGE) or leak.verdict is not Verdict.CLEAN):
                yield {"visible": seen.name, "hidden": subject, **leak._asdict()}
        for subject, values in hidden:
            moduli = MODULI if seen.are_integers else ()
            of_all = [(modulus, group_leak(seen.values % modulus, values)) for modulus in moduli]
            worst = [
                (modulus, leak) for modulus, leak in of_all if leak and leak.verdict is not Verdict.CLEAN
            ]
            if worst:
                modulus, leak = max(worst, key=lambda each: round(each[1].auc, 2))
                name = f"{seen.name} modulo {modulus}"
                yield {"visible": name, "hidden": subject, **leak._asdict()}


def findings(
    report: Mapping[str, Any], *, is_corrected: bool = False, is_chosen: bool = False
) -> list[Finding]:
    """Return the findings of a report, stops first.

    In a live competition, leaks and columns without a chosen role are only warnings. If the identities in the
    score are chosen, such columns are also only warnings.
    """
    unsorted = [
        *_of_roles(report, Level.WARNING if is_corrected or is_chosen else Level.STOP),
        *_of_test(report),
        *_of_leaks(report, is_corrected=is_corrected),
        *_of_rows(report),
    ]
    return sorted(unsorted, key=lambda each: list(Level).index(Level(each["level"])))


def _of_roles(report: Mapping[str, Any], level: Level) -> Iterator[Finding]:
    if names := report["undecided"]:
        text = (
            f"The role of {_names(names, 20)} is unclear, because not all values are from 0 to 1. Choose it: "
            "identities and the label need numbers from 0 to 1; other columns can be unused or slices."
        )
        yield finding(level, "undecided_columns", text)


def _of_test(report: Mapping[str, Any]) -> Iterator[Finding]:
    test = report["test"]
    if test is None:
        return
    for problem in test["problems"]:
        text = (
            f"{problem['message']} Participants predict the rows of test.csv. Correct the solution, or "
            "upload the test.csv with its ids."
        )
        yield finding(Level.STOP, "test_ids", text)
    for name in (report["label"], report["usage"]):
        if name and name in test["columns"]:
            text = f"test.csv has the secret column {quoted(name)}. Remove it."
            yield finding(Level.STOP, "test_columns", text)
    if shown := [line["name"] for line in report["identities"] if line["name"] in test["columns"]]:
        text = f"test.csv reveals the identities {_names(shown)} to participants."
        yield finding(Level.WARNING, "test_identities", text)
    if not test["problems"]:
        text = f"test.csv has exactly the {report['rows']:,} ids of the solution."
        yield finding(Level.NOTE, "test_ids", text)


def _of_leaks(report: Mapping[str, Any], *, is_corrected: bool) -> Iterator[Finding]:
    for leak in report["leaks"]:
        if leak["verdict"] == Verdict.CLEAN:
            continue
        hidden = leak["hidden"]
        is_certain = leak["verdict"] == Verdict.LEAK and hidden in (LABEL, USAGE)
        subject = hidden if hidden in (LABEL, USAGE) else f"the identity {quoted(hidden)}"
        text = (
            f"The {leak['visible']} alone predicts {subject} with an AUC of {leak['auc']:.3f} (by chance: "
            f"{leak['chance']})."
        )
        if is_certain and is_corrected:
            text += " The leak has existed since the competition opened."
        elif is_certain:
            text += " Shuffle the rows and give them new ids"
            text += "." if hidden == LABEL else ", or omit Usage to get a split that cannot be guessed."
        yield finding(Level.STOP if is_certain and not is_corrected else Level.WARNING, "leak", text)


def _of_rows(report: Mapping[str, Any]) -> Iterator[Finding]:
    if count := report["unannotated_rows"]:
        rows = report["rows"] - report["ignored_rows"]
        text = (
            f"{counted(count, 'row')} of {rows:,} without identity annotation. Blanks count as not "
            "mentioned, so such rows are in the background of every identity."
        )
        yield finding(Level.WARNING, "unannotated", text)
    if proposal := settings_warnings.proposed_step_of(report):
        text = f"Feedback mode tiered: {proposal.sentence}"
        yield finding(Level.NOTE, "safe_step", text)
    for odd in report["odd_ids"]:
        ids = listed([quoted(each) for each in odd["ids"][:MOST_NAMED]], total=odd["count"])
        text = (
            f"A program may have {odd['why']} {counted(odd['count'], 'id')}: {ids}. Compare them with those "
            "of test.csv or a sample submission."
        )
        yield finding(Level.WARNING, "odd_ids", text)


def lost_identities(names: Sequence[str]) -> list[Finding]:
    """Return the warning that a corrected solution lacks identity columns of the live one."""
    if not names:
        return []
    count = counted(len(names), "identity column")
    text = f"This file lacks {count} of the live solution: {_names(names)}."
    return [finding(Level.WARNING, "lost_identities", text)]


def _names(names: Sequence[str], most: int = MOST_NAMED) -> str:
    return listed([quoted(name) for name in names], most=most)


Written = Mapping[str, NDArray[np.float64] | list[str]]


def changes_of(before: Written, after: Written, row_ids: RowIds, usage: str) -> tuple[dict[str, Any], bytes]:
    """Return the changed values of rows in the same order as a summary in JSON and as a CSV file.

    Columns in only one of the two are skipped. `usage` is the column with the splits.
    """
    lines: list[Sequence[str]] = [CHANGE_COLUMNS]
    columns, changed, moves = [], set[int](), Counter[str]()
    for column in [name for name in after if name in before]:
        old, new = (
            each if isinstance(each, np.ndarray) else np.array(each, object)
            for each in (before[column], after[column])
        )
        differs = old != new
        if old.dtype.kind == new.dtype.kind == "f":
            differs &= ~(np.isnan(old) & np.isnan(new))
        rows = np.flatnonzero(differs).tolist()
        if not rows:
            continue
        ids, was, now = row_ids.at(rows), _texts(old[rows]), _texts(new[rows])
        lines += zip(ids, repeat(column), was, now)
        columns.append({"column": column, "rows": len(rows), "row_ids": ids[:MOST_SHOWN_CHANGES]})
        changed.update(rows)
        if column == usage:
            moves.update(map("{} to {}".format, was, now))
    summary = {
        "rows": len(changed),
        "columns": columns,
        "moves": dict(moves),
        "exposed_rows": moves["Public to Private"] + moves["Private to Public"],
    }
    return summary, csv_lines(lines, line_end="\n").encode()


def _texts(values: NDArray[Any]) -> list[str]:
    if values.dtype.kind == "O":
        return [str(value) for value in values.tolist()]
    return ["" if value != value else repr(value) for value in values.tolist()]
