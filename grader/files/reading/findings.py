"""Collect the problems of a file: one for each kind, its first five lines, the full count."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ParamSpec

from grader.files.reading.problems import Problem
from grader.text.wording import counted

LINES_SHOWN = 5
P = ParamSpec("P")


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
