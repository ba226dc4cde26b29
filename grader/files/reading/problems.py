"""File problems and notes: types, collection during reading, and the FileRejected error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, ParamSpec

from grader.errors import FairboardError
from grader.text import counted, quoted

LINES_SHOWN = 5
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A class of problems in a file.

    Attributes
    ----------
    code : str
        Stable name of the class, such as ``"duplicate_row_id"``.
    message : str
        Full sentence with the location, value, expectation, finding and count.
    line : int or None
        First affected line; line 1 is the header. None if the problem is not on a line.
    lines : tuple of int
        The first five affected lines.
    count : int
        Total number of occurrences.
    expected, found : str or None
        The expected and the actual content, as text.
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
    """A file cannot be used; `problems` contains all its problems in reading order."""

    public_name = "file_rejected"

    def __init__(self, file: Literal["submission", "solution"], problems: Sequence[FileProblem]) -> None:
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
        First affected line, if any.
    count : int
        Number of affected rows; 1 if the note is about the whole file.
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
    """A description of the first occurrence of a problem class.

    Attributes
    ----------
    sentence : str
        Sentence without location, count and full stop: ``"prediction is NaN; expected a finite number"``.
    expected, found : str or None
        The expected and the actual content.
    advice : str
        A closing sentence, or empty.
    place : str
        Position in the line, if known: ``"byte 12"``.
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
    """The problems of lines, counted by class; only the first problem of each class is described."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}
        self.is_complete = True
        self.total = 0  # number of lines in all classes

    def __bool__(self) -> bool:
        return bool(self._tallies)

    def add(
        self, code: str, line: int, describe: Callable[P, Finding], *args: P.args, **kwargs: P.kwargs
    ) -> None:
        """Count a line of a class; only for the first line, `describe` is called with the arguments."""
        tally = self._tallies.get(code)
        if tally is None:
            tally = self._tallies[code] = _Tally(describe(*args, **kwargs))
        tally.count += 1
        self.total += 1
        if tally.count <= LINES_SHOWN:
            tally.lines.append(line)

    def count(self, code: str) -> int:
        """Return the number of lines counted for a class."""
        tally = self._tallies.get(code)
        return tally.count if tally else 0

    def problems(self) -> list[FileProblem]:
        """Return one problem per class, in the order of the first lines."""
        problems = [self._problem(code, tally) for code, tally in self._tallies.items()]
        return sorted(problems, key=lambda problem: problem.line or 0)

    def _problem(self, code: str, tally: _Tally) -> FileProblem:
        finding = tally.finding
        such = counted(tally.count, "affected line", at_least=not self.is_complete)
        if tally.count > 1:
            more = ", …" if tally.count > len(tally.lines) else ""
            such += f" ({', '.join(f'{line:,}' for line in tally.lines)}{more})"
        place = f"Line {tally.lines[0]:,}" + (f", {finding.place}" if finding.place else "")
        message = f"{place}: {finding.sentence}. {such[0].upper() + such[1:]}."
        return FileProblem(
            code,
            f"{message} {finding.advice}".strip(),
            line=tally.lines[0],
            lines=tuple(tally.lines),
            count=tally.count,
            expected=finding.expected,
            found=finding.found,
        )


def nul_byte(line: bytes) -> Finding:
    """Describe a line that contains a NUL byte, which a full disk or an interrupted transfer leaves."""
    start, _, _ = line.partition(b"\0")
    advice = "Copy the file again."
    return Finding(f"NUL byte after {quoted(start)}", "text without NUL bytes", "a NUL byte", advice)


def not_utf8_at(line: bytes, offset: int) -> Finding:
    """Describe the first byte of a line that is not UTF-8."""
    byte, advice = f"0x{line[offset]:02X}", "Save the file as 'CSV UTF-8'."
    return Finding(f"invalid UTF-8 ({byte}); expected UTF-8", "UTF-8", byte, advice, f"byte {offset + 1}")
