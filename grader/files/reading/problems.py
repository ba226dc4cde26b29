"""Problems and notes of a file, their collection while it is read, and FileRejected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, ParamSpec

from grader.errors import FairboardError
from grader.text import counted

LINES_SHOWN = 5
P = ParamSpec("P")


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


@dataclass(frozen=True, slots=True)
class Finding:
    """What is said about the first occurrence of a class.

    Attributes
    ----------
    sentence : str
        Without place, count and full stop: ``"prediction is NaN; expected a finite number"``.
    expected, found : str or None
        The two sides of the disagreement.
    advice : str
        A closing sentence or nothing.
    place : str
        Where on the line, if that is known: ``"byte 12"``.
    """

    sentence: str
    expected: str | None = None
    found: str | None = None
    advice: str = ""
    place: str = ""


@dataclass(slots=True)
class _Tally:
    finding: Finding
    count: int = 0
    lines: list[int] = field(default_factory=list)


class Findings:
    """Problems of lines, counted by class; only the first of a class costs a sentence."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}
        self.is_complete = True
        self.total = 0  # lines of all classes

    def __bool__(self) -> bool:
        return bool(self._tallies)

    def add(
        self, code: str, line: int, describe: Callable[P, Finding], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Count one more line of a class; the arguments are described for the first one only."""
        tally = self._tallies.get(code)
        if tally is None:
            tally = self._tallies[code] = _Tally(describe(*args, **kwargs))
        tally.count += 1
        self.total += 1
        if tally.count <= LINES_SHOWN:
            tally.lines.append(line)

    def count(self, code: str) -> int:
        """Return how many lines of a class were counted."""
        tally = self._tallies.get(code)
        return tally.count if tally else 0

    def problems(self) -> list[Problem]:
        """Return one problem a class, in the order of their first lines."""
        found = [self._problem(code, tally) for code, tally in self._tallies.items()]
        return sorted(found, key=lambda problem: problem.line or 0)

    def _problem(self, code: str, tally: _Tally) -> Problem:
        finding = tally.finding
        such = counted(tally.count, "such line", at_least=not self.is_complete)
        if tally.count > 1:
            more = ", …" if tally.count > len(tally.lines) else ""
            such += f" ({', '.join(f'{line:,}' for line in tally.lines)}{more})"
        place = f"Line {tally.lines[0]:,}" + (f", {finding.place}" if finding.place else "")
        message = f"{place}: {finding.sentence}. {such[0].upper() + such[1:]}."
        return Problem(
            code,
            f"{message} {finding.advice}".strip(),
            line=tally.lines[0],
            lines=tuple(tally.lines),
            count=tally.count,
            expected=finding.expected,
            found=finding.found,
        )
