"""Problem and note of a file: code, lines, count and sentence; FileRejected."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from grader.errors import FairboardError


@dataclass(frozen=True, slots=True)
class Problem:
    """One class of things wrong in a file.

    Attributes
    ----------
    code : str
        Stable name of the class, such as ``"duplicate_row_id"``.
    message : str
        Full sentence: place, value, what was expected, what was found, how many.
    line : int or None
        First line concerned; line 1 is the header. None where no line is to blame.
    lines : tuple of int
        The first five lines concerned.
    count : int
        How many there are in all.
    expected, found : str or None
        The two sides of the disagreement, as text.
    """

    code: str
    message: str
    line: int | None = None
    lines: tuple[int, ...] = ()
    count: int = 1
    expected: str | None = None
    found: str | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the problem as JSON-ready data with all seven keys."""
        return {
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "lines": list(self.lines),
            "count": self.count,
            "expected": self.expected,
            "found": self.found,
        }


class FileRejected(FairboardError):
    """A file cannot be used; `problems` holds everything that is wrong with it, in reading order."""

    public_name = "file_rejected"

    def __init__(self, file: Literal["submission", "solution"], problems: Sequence[Problem]) -> None:
        super().__init__(" ".join(problem.message for problem in problems))
        self.file = file
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on a file that was accepted.

    Attributes
    ----------
    code : str
        Stable name of the remark, such as ``"outside_unit_interval"``.
    message : str
        Full sentence.
    line : int or None
        First line concerned, where there is one.
    count : int
        How many rows it concerns; 1 where it concerns the file as a whole.
    """

    code: str
    message: str
    line: int | None = None
    count: int = 1

    def as_dict(self) -> dict[str, object]:
        """Return the note as JSON-ready data."""
        return {
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "count": self.count,
        }
