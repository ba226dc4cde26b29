"""Findings in solution reports: problems, warnings and notes."""

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairboard.bias.leaks import Verdict, by_chance
from grader.services.competitions import settings_warnings
from grader.services.solutions.report import LABEL, USAGE
from grader.text import counted, listed, quoted

MOST_NAMED = 8


class Level(enum.StrEnum):
    """The levels of findings: stops must be fixed, warnings need a decision, and notes only inform."""

    STOP = "stop"
    WARNING = "warning"
    NOTE = "note"


Finding = dict[str, str]

_MEND = {
    LABEL: "Shuffle the rows and give them new ids.",
    USAGE: "Shuffle the rows and give them new ids, or omit Usage to get a split that cannot be guessed.",
}


def find(report: Mapping[str, Any], *, is_corrected: bool = False) -> list[Finding]:
    """Return the findings of a report, stops first.

    In a live competition, leaks and columns without a chosen role are only warnings.
    """
    found = [
        *_undecided(report, stops=not is_corrected),
        *_test(report),
        *_leaks(report, stops=not is_corrected),
        *_unannotated(report),
        *_step(report),
        *_odd_ids(report),
        *_ids(report),
    ]
    return sorted(found, key=lambda finding: list(Level).index(Level(finding["level"])))


def lost_identities(names: Sequence[str]) -> list[Finding]:
    """Return the warning that a corrected solution lacks identity columns of the live one."""
    if not names:
        return []
    shown = listed([quoted(name) for name in names], most=MOST_NAMED)
    text = f"This file lacks {counted(len(names), 'identity column')} of the live solution: {shown}."
    return [_finding(Level.WARNING, "lost_identities", text)]


def stop(code: str, message: str) -> Finding:
    """Return a finding with the level STOP."""
    return _finding(Level.STOP, code, message)


def warning(code: str, message: str) -> Finding:
    """Return a finding with the level WARNING."""
    return _finding(Level.WARNING, code, message)


def stops(findings: list[Finding]) -> list[Finding]:
    """Return the findings that must be fixed."""
    return [finding for finding in findings if finding["level"] == Level.STOP]


def _finding(level: Level, code: str, message: str) -> Finding:
    return {"level": level.value, "code": code, "message": message}


def _undecided(report: Mapping[str, Any], *, stops: bool) -> Iterator[Finding]:
    if names := report["undecided"]:
        shown = listed([quoted(name) for name in names], most=20)
        text = (
            f"The role of {shown} is unclear, because not all values are from 0 to 1. Choose it: identities "
            "and the label need numbers from 0 to 1; other columns can be unused or slices."
        )
        yield _finding(Level.STOP if stops else Level.WARNING, "undecided_columns", text)
    if names := report["undeclared"]:
        shown = listed([quoted(name) for name in names], most=20)
        advice = "Give identities and the label their role, and the other columns the role unused or slice."
        text = f"{counted(len(names), 'column')} not in the score: {shown}. {advice}"
        yield _finding(Level.WARNING, "unused_columns", text)


def _test(report: Mapping[str, Any]) -> Iterator[Finding]:
    test = report["test"]
    if test is None:
        return
    for problem in test["problems"]:
        yield stop("test_ids", f"{problem['message']} Participants predict the rows of test.csv.")
    hidden = [name for name in (report["label"], report["usage"]) if name and name in test["columns"]]
    for name in hidden:
        yield stop("test_columns", f"test.csv has the secret column {quoted(name)}. Remove it.")
    shown = [line["name"] for line in report["identities"] if line["name"] in test["columns"]]
    if shown:
        names = listed([quoted(name) for name in shown], most=MOST_NAMED)
        yield _finding(
            Level.WARNING, "test_identities", f"test.csv reveals the identities {names} to participants."
        )
    if not test["problems"]:
        text = f"test.csv has exactly the {report['rows']:,} ids of the solution."
        yield _finding(Level.NOTE, "test_ids", text)


def _leaks(report: Mapping[str, Any], *, stops: bool) -> Iterator[Finding]:
    for leak in report["leaks"]:
        if leak["verdict"] == Verdict.CLEAN:
            continue
        is_certain = leak["verdict"] == Verdict.LEAK and leak["hidden"] in (LABEL, USAGE)
        hidden = (
            leak["hidden"] if leak["hidden"] in (LABEL, USAGE) else f"the identity {quoted(leak['hidden'])}"
        )
        text = (
            f"The {leak['visible']} alone predicts {hidden} with an AUC of {leak['auc']:.3f} (by chance: "
            f"{by_chance(leak['error'])})."
        )
        if is_certain:
            text += (
                f" {_MEND[leak['hidden']]}"
                if stops
                else " The leak has existed since the competition opened."
            )
        level = Level.STOP if is_certain and stops else Level.WARNING
        yield _finding(level, "leak", text)


def _unannotated(report: Mapping[str, Any]) -> Iterator[Finding]:
    count = report["unannotated_rows"]
    if count:
        rows = report["rows"] - report["ignored_rows"]
        has = "has" if count == 1 else "have"
        text = (
            f"{counted(count, 'row')} of {rows:,} {has} no identity annotation. Blanks count as not "
            "mentioned, so such rows are in the background of every identity."
        )
        yield _finding(Level.WARNING, "unannotated", text)


def _step(report: Mapping[str, Any]) -> Iterator[Finding]:
    if proposal := settings_warnings.proposed_step_of(report):
        text = f"For the feedback mode tiered: {proposal.sentence}"
        yield _finding(Level.NOTE, "safe_step", text)


ODD_IDS = {
    "odd": "{count} unlike the others: {ids}. If a program changed them, submissions may be rejected.",
    "decimals": "{count} written as decimals: {ids}. They are equal to integers. Write integers.",
    "rounded": "{count} above 2^53 look rounded by a program: {ids}.",
}


def _odd_ids(report: Mapping[str, Any]) -> Iterator[Finding]:
    odd = report["odd_ids"]
    if odd["count"]:
        ids = listed([quoted(each) for each in odd["ids"][:MOST_NAMED]], total=odd["count"])
        text = ODD_IDS[odd["why"]].format(count=counted(odd["count"], "id"), ids=ids)
        yield _finding(
            Level.WARNING, "odd_ids", f"{text} Compare them with those of test.csv or a sample submission."
        )


def _ids(report: Mapping[str, Any]) -> Iterator[Finding]:
    if report["alike_ids"]:
        ids = listed([quoted(each) for each in report["alike_ids"]])
        text = f"Some ids differ only in case or leading zeros, which spreadsheets can change: {ids}."
        yield _finding(Level.WARNING, "alike_ids", text)
    else:
        text = f"All {report['rows']:,} ids are unique."
        yield _finding(Level.NOTE, "unique_ids", text)
