"""Findings of a solution's report: stops, warnings and notes."""

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from grader.canaries import least_chance
from grader.files import ColumnRole
from grader.metrics.leaks import Verdict, by_chance
from grader.services.competitions import settings_warnings
from grader.services.solutions.report import LABEL, USAGE
from grader.text import counted, listed, quoted

WIDE_ERROR = 0.01
MOST_NAMED = 8
RARE = 1000


class Level(enum.StrEnum):
    """A stop must be fixed first, a warning needs the organizer's judgement, a note is information."""

    STOP = "stop"
    WARNING = "warning"
    NOTE = "note"


Finding = dict[str, str]

_MEND = {
    LABEL: "Shuffle the rows and give them new ids.",
    USAGE: "Shuffle the rows and give them new ids; or leave Usage out, for a split that nobody can guess.",
}


def find(
    report: Mapping[str, Any], *, is_corrected: bool = False, are_identities_chosen: bool = False
) -> list[Finding]:
    """Return the findings of a report, stops first.

    Leaks of a live competition stop nothing. A near-miss identity column stops only a choice of identities
    that is not made by hand.
    """
    found = [
        *_near_misses(report, stops=not is_corrected and not are_identities_chosen),
        *_truth_values(report),
        *_test(report),
        *_leaks(report, stops=not is_corrected),
        *_unannotated(report),
        *_thresholds(report),
        *_overlaps(report),
        *_expected(report),
        *_step(report),
        *_ids(report),
        *_canaries(report),
    ]
    return sorted(found, key=lambda finding: list(Level).index(Level(finding["level"])))


def lost_identities(names: Sequence[str]) -> list[Finding]:
    """Return the warning that a corrected solution has no column for some identities of the live one."""
    if not names:
        return []
    shown = listed([quoted(name) for name in names], most=MOST_NAMED)
    text = f"The live solution has {counted(len(names), 'identity column')} that this file lacks: {shown}."
    return [_finding(Level.WARNING, "lost_identities", text)]


def kept_canaries(row_ids: Sequence[str]) -> list[Finding]:
    """Return the warning that a corrected solution tries to change canary rows."""
    if not row_ids:
        return []
    text = (
        f"The file gives {counted(len(row_ids), 'canary row')} another label or a Usage that counts. Canary "
        f"rows enter no score: they keep the Usage Ignored and the label that was drawn for them. Rows: "
        f"{listed(list(row_ids), most=MOST_NAMED)}."
    )
    return [_finding(Level.WARNING, "canaries_kept", text)]


def stop(code: str, message: str) -> Finding:
    """Return a finding of the level STOP."""
    return _finding(Level.STOP, code, message)


def stops(findings: list[Finding]) -> list[Finding]:
    """Return the findings that must be fixed first."""
    return [finding for finding in findings if finding["level"] == Level.STOP]


def chance(probability: float) -> str:
    """Return a probability in words, such as `1 of 3`."""
    return (
        f"1 of {max(2, round(1 / probability)):,}" if probability > 1 / RARE else f"less than 1 of {RARE:,}"
    )


def _finding(level: Level, code: str, message: str) -> Finding:
    return {"level": level.value, "code": code, "message": message}


def _near_misses(report: Mapping[str, Any], *, stops: bool) -> Iterator[Finding]:
    for each in report["near_misses"]:
        is_identity = each["role"] == ColumnRole.IDENTITY
        level = Level.STOP if stops and is_identity else Level.WARNING
        advice = "Fix the file, name the identities, or give this column the role unused."
        yield _finding(level, "near_miss", f"{each['message']} {advice}")


def _truth_values(report: Mapping[str, Any]) -> Iterator[Finding]:
    names = [quoted(each["name"]) for each in report["slices"] if each["holds_truth_values"]]
    if names:
        columns, hold, them = ("column", "holds", "it") if len(names) == 1 else ("columns", "hold", "them")
        text = (
            f"The {columns} {listed(names, most=MOST_NAMED)} {hold} truth values, which makes {them} no "
            "identity. If one was meant, write 1 and 0."
        )
        yield _finding(Level.WARNING, "truth_values", text)


def _test(report: Mapping[str, Any]) -> Iterator[Finding]:
    test = report["test"]
    if test is None:
        return
    for problem in test["problems"]:
        yield stop("test_ids", f"{problem['message']} Participants predict what is in test.csv.")
    hidden = [name for name in (report["label"], report["usage"]) if name and name in test["columns"]]
    for name in hidden:
        yield stop("test_columns", f"test.csv has the column {quoted(name)}, which is to stay hidden.")
    shown = [line["name"] for line in report["identities"] if line["name"] in test["columns"]]
    if shown:
        names = listed([quoted(name) for name in shown], most=MOST_NAMED)
        yield _finding(
            Level.WARNING, "test_identities", f"test.csv shows participants the identities {names}."
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
            f"The {leak['visible']} alone predicts {hidden} with an AUC of {leak['auc']:.3f}; one that says "
            f"nothing has {by_chance(leak['error'])}."
        )
        if is_certain:
            text += f" {_MEND[leak['hidden']]}" if stops else " It has been so since the opening."
        level = Level.STOP if is_certain and stops else Level.WARNING
        yield _finding(level, "leak", text)


def _unannotated(report: Mapping[str, Any]) -> Iterator[Finding]:
    count = report["unannotated_rows"]
    if count:
        rows = report["rows"] - report["ignored_rows"]
        has = "has" if count == 1 else "have"
        text = (
            f"{counted(count, 'row')} of {rows:,} {has} no identity annotation at all. A blank counts as not "
            "mentioned, so such rows are background of every identity."
        )
        yield _finding(Level.WARNING, "unannotated", text)


def _thresholds(report: Mapping[str, Any]) -> Iterator[Finding]:
    for line in report["thresholds"]:
        if line["just_below"]:
            text = (
                f"{quoted(line['column'])}: {counted(line['just_below'], 'value')} less than a millionth "
                f"below {line['threshold']:g}, such as {line['largest_below']!r}, and so false. Was "
                f"{line['threshold']:g} meant?"
            )
            yield _finding(Level.WARNING, "just_below", text)
    at = [f"{quoted(line['column'])} ({line['at']:,})" for line in report["thresholds"] if line["at"]]
    if at:
        text = f"Values exactly at the threshold count as true: {listed(at, most=MOST_NAMED)}."
        yield _finding(Level.NOTE, "at_threshold", text)


def _overlaps(report: Mapping[str, Any]) -> Iterator[Finding]:
    in_score = {line["name"] for line in report["identities"] if line["in_score"]}
    for overlap in report["overlaps"]:
        smaller, larger = overlap["smaller"], overlap["larger"]
        if overlap["share"] == 1 and {smaller, larger} <= in_score:
            text = f"Every row that mentions {quoted(smaller)} mentions {quoted(larger)} too "
            yield _finding(Level.WARNING, "overlap", f"{text}({counted(overlap['rows'], 'row')}).")


def _expected(report: Mapping[str, Any]) -> Iterator[Finding]:
    assumed = report["assumed"]
    for name, split in report["splits"].items():
        error, swaps = split["score_error"], split["swap_probability"]
        if error is None:
            continue
        text = (
            f"{name.capitalize()} scores have a standard error of about {error:.4f}: teams "
            f"{assumed['difference']:g} apart swap in {chance(swaps)} (at AUCs of {assumed['auc']:g})."
        )
        level = Level.WARNING if error > WIDE_ERROR else Level.NOTE
        yield _finding(level, "expected_error", text)


def _canaries(report: Mapping[str, Any]) -> Iterator[Finding]:
    before = report["canaries"]
    rows = sum(before.values())
    if rows:
        were = listed([f"{count:,} {usage}" for usage, count in before.items()])
        text = (
            f"{rows:,} rows are canary rows (before: {were}). They have the Usage Ignored, so they enter no "
            "score, and their labels were drawn by coin. An honest file follows all of the coins once in "
            f"{1 / least_chance(rows):,.0f} files. Only the stored solution has these labels."
        )
        yield _finding(Level.NOTE, "canaries", text)


def _step(report: Mapping[str, Any]) -> Iterator[Finding]:
    if proposal := settings_warnings.proposed_step_of(report):
        text = f"If the feedback has a step (tiered, ladder or noised): {proposal.sentence}"
        yield _finding(Level.NOTE, "safe_step", text)


def _ids(report: Mapping[str, Any]) -> Iterator[Finding]:
    if report["alike_ids"]:
        ids = listed([quoted(each) for each in report["alike_ids"]])
        text = f"Ids differ only in case or leading zeros, which spreadsheets mix up: {ids}."
        yield _finding(Level.WARNING, "alike_ids", text)
    else:
        text = f"Each of the {report['rows']:,} ids appears once."
        yield _finding(Level.NOTE, "unique_ids", text)
