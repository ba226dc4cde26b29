"""View of a checked file: what was looked at, step by step, and what is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grader.services.submissions.repeats import IdenticalFile
from grader.worker.checking.checker import Checked

READABLE, HEADER, IDS, PREDICTIONS = "readable", "header", "ids", "predictions"
# By code, the step that a problem belongs to; what is not named here makes a file unreadable.
STEPS = {
    HEADER: (
        "wrong_header missing_header missing_column unexpected_column wrong_column duplicate_column "
        "index_column wrong_delimiter comment_line separator_line repeated_header"
    ),
    IDS: (
        "missing_row_id duplicate_row_id unknown_id not_an_id empty_id scientific_id invisible_character "
        "too_many_rows no_rows"
    ),
    PREDICTIONS: (
        "not_a_number date decimal_comma empty_prediction nan_prediction infinite_prediction "
        "missing_prediction percent_sign formula hexadecimal too_large field_too_long"
    ),
}
_STEP_OF = {code: step for step, codes in STEPS.items() for code in codes.split()}
_OF_IDS = frozenset({"missing_row_id", "no_rows"})


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was looked at: `state` is done, bad, or empty where it could not be looked at."""

    words: str
    state: str


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What was found in a file before it was submitted; `identical` is an own file with the same bytes."""

    steps: tuple[Step, ...]
    problems: Sequence[dict[str, Any]]
    notes: Sequence[dict[str, Any]]
    identical: IdenticalFile | None
    was_read: bool

    @property
    def is_clean(self) -> bool:
        """Whether it can be submitted as it is."""
        return not self.problems and self.identical is None


def checked_file(
    checked: Checked | None, *, size: str, row_count: int, refused: IdenticalFile | None
) -> CheckedFile:
    """Return the steps of a check, None for a file that nobody had time to read.

    A step after a bad one is open where nothing is known about it.
    """
    problems = checked.problems if checked else []
    bad = {_STEP_OF.get(problem["code"], READABLE) for problem in problems}
    ids = f"{_found(row_count, problems):,} of {row_count:,} ids" if IDS in bad else f"All {row_count:,} ids"
    words = {READABLE: "Readable as CSV", HEADER: "Header", IDS: ids, PREDICTIONS: "Predictions are numbers"}
    steps, is_open = [Step(size, "done")], checked is None
    for step, named in words.items():
        steps.append(Step(named, "bad" if step in bad else "" if is_open else "done"))
        is_open = is_open or (step in bad and step in (READABLE, HEADER))
    steps.append(Step("Not sent before", "bad" if refused else "done"))
    notes = checked.notes if checked else []
    return CheckedFile(tuple(steps), problems, notes, refused, checked is not None)


def _found(row_count: int, problems: Sequence[dict[str, Any]]) -> int:
    """Return how many of the expected ids a file has."""
    return row_count - sum(int(problem["count"]) for problem in problems if problem["code"] in _OF_IDS)
