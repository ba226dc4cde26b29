"""File problems and notes, with texts from problems.toml, and the FileRejected error."""

import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import Any, Literal

from grader.errors import FairboardError
from grader.text import character, counted, quoted

LINES_SHOWN = 5
_WORDINGS = tomllib.loads(files("grader.files").joinpath("problems.toml").read_text("utf-8"))
Content = bytes | str | None | Callable[[], bytes | str]


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

    @classmethod
    def of(
        cls,
        code: str,
        content: Content = None,
        *,
        like: str = "",
        lines: Sequence[int] = (),
        count: int = 1,
        affected: str = "",
        **words: str,
    ) -> "FileProblem":
        """Return a problem with the message of its code, or of the code `like`.

        `content` is shown in quotes. `affected` is the sentence about the affected lines. Other words fill
        the message; `expected` and `advice` replace those of the code.
        """
        wording = _WORDINGS[like or code]
        filled = {"found": "" if content is None else quoted(_value(content)), **words}
        what, expected, shown, advice = (
            words[part] if part in words else wording.get(part, default).format_map(filled)
            for part, default in (("problem", ""), ("expected", ""), ("found", "{found}"), ("advice", ""))
        )
        sentence = f"{what}; expected {expected}" if expected else what
        place = f"Line {lines[0]:,}: " if lines else ""
        message = f"{place}{sentence if place else sentence[0].upper() + sentence[1:]}. {affected}"
        return cls(
            code,
            f"{message.strip()} {advice}".strip(),
            lines[0] if lines else None,
            tuple(lines),
            count,
            expected or None,
            shown or None,
        )

    def as_dict(self) -> dict[str, object]:
        """Return the problem as JSON-ready data with all seven keys."""
        return asdict(self) | {"lines": list(self.lines)}


class FileRejected(FairboardError):
    """A file cannot be used; `problems` contains all its problems in reading order."""

    public_name = "file_rejected"

    def __init__(
        self, *problems: FileProblem, file: Literal["submission", "solution"] = "submission"
    ) -> None:
        super().__init__(" ".join(problem.message for problem in problems))
        self.file = file
        self.problems = problems


@contextmanager
def reading(file: Literal["submission", "solution"]) -> Iterator[None]:
    """Add the file's name to a FileRejected error raised in this context or function."""
    try:
        yield
    except FileRejected as error:
        error.file = file
        raise


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

    @classmethod
    def of(cls, code: str, *, line: int | None = None, count: int = 1, **words: str) -> "Note":
        """Return a note with the message of its code, filled with the words."""
        return cls(code, _WORDINGS[code]["note"].format_map({"line": f"{line or 0:,}", **words}), line, count)

    def as_dict(self) -> dict[str, object]:
        """Return the note as JSON-ready data."""
        return asdict(self)


@dataclass(slots=True)
class _Tally:
    parts: dict[str, Any]
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

    def add(self, code: str, line: int, content: Content = None, *, like: str = "", **words: Any) -> None:
        """Count a line of a class; callables are only called for its first line.

        The parameters are those of `FileProblem.of`.
        """
        tally = self._tallies.get(code)
        if tally is None:
            parts = {"content": content, "like": like, **words}
            tally = self._tallies[code] = _Tally({name: _value(each) for name, each in parts.items()})
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
        such = ""
        if tally.count > 1 or not self.is_complete:
            such = counted(tally.count, "affected line", at_least=not self.is_complete)
            more = ", …" if tally.count > len(tally.lines) else ""
            such = f"{such[0].upper()}{such[1:]} ({', '.join(f'{line:,}' for line in tally.lines)}{more})."
        return FileProblem.of(code, lines=tally.lines, count=tally.count, affected=such, **tally.parts)


def _value(each: Any) -> Any:
    return each() if callable(each) else each


def foreign(value: str) -> str:
    """Return a remark on the first non-ASCII character of a text, which may look like another, or nothing."""
    first = next((char for char in value if not char.isascii()), None)
    return f" (it contains {character(first)})" if first else ""
