"""Named leaderboards, which rank by terms, the worst group or a weighted sum.

A line defines one: a name, `=`, and a value such as `0.5 * overall + 0.5 * worst group`. The word `lowest` or
`highest` at the end sets the direction.
"""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from fairboard.groups import OTHER
from fairboard.interface import Description, Direction
from grader.text import listed

MOST_BOARDS, NAME_MAX_LENGTH, KEY_MAX_LENGTH = 10, 40, 40
SCORE, WORST_GROUP, OVERALL = "score", "worst group", "overall"
LARGEST_WEIGHT, LARGEST_PART = 1e6, 1e300  # A few parts of this size can be added.
_SHOWN_NAMES = 12
_OPERATOR = re.compile(r" ([+-]) ")  # names may contain signs without spaces
_WEIGHTED = re.compile(r"(?:([0-9]*\.?[0-9]+(?:e-?[0-9]+)?) ?\* ?)?(.+)")
_SIGNS = str.maketrans({"\N{MULTIPLICATION SIGN}": "*", "\N{MINUS SIGN}": "-"})


class BoardValue(NamedTuple):
    """A value of a submission that a leaderboard can rank by: the score, the worst group or a term."""

    name: str
    title: str
    direction: Direction
    is_term: bool = False

    def of(self, score: float, terms: Mapping[str, float], groups: Mapping[str, Any]) -> float | None:
        """Return the value of a submission on one split, or None if it is undefined."""
        if self.is_term:
            return terms.get(self.name)
        if self.name == SCORE:
            return score
        worst = min if self.direction is Direction.HIGHEST else max
        named = (item for column in groups.values() for item in column.items())
        values = (each["score"] for name, each in named if name != OTHER)
        return worst(values, default=None)


@dataclass(frozen=True, slots=True)
class BoardRule:
    """The rule by which a named leaderboard ranks.

    Attributes
    ----------
    name, key : str
        The name, and its form in URLs.
    parts : tuple of (float, BoardValue)
        The weights and the values of the sum.
    direction : Direction
        Which value is the best.
    decimals : int
        The number of displayed decimals.
    """

    name: str
    key: str
    parts: tuple[tuple[float, BoardValue], ...]
    direction: Direction
    decimals: int

    @property
    def expression(self) -> str:
        """The weighted sum as text, such as ``0.5 * Overall + 0.5 * worst group``."""
        sizes = (f"{abs(weight):g} * " if abs(weight) != 1 else "" for weight, _ in self.parts)
        parts = zip(sizes, self.parts, strict=True)
        text = " ".join(f"{'-' if weight < 0 else '+'} {size}{each.title}" for size, (weight, each) in parts)
        return text.removeprefix("+ ")

    @property
    def single(self) -> BoardValue | None:
        """The value by which the leaderboard ranks if it is a single one without a weight, or None."""
        ((weight, value), *others) = self.parts
        return None if others or abs(weight) != 1 else value

    def value(self, score: float, terms: Mapping[str, float], groups: Mapping[str, Any]) -> float | None:
        """Return the value for the values of a `MetricResult`, or None if a part of it is undefined."""
        parts = []
        for weight, value in self.parts:
            number = value.of(score, terms, groups)
            if number is None or not abs(weight * number) < LARGEST_PART:
                return None
            parts.append(weight * number)
        return math.fsum(parts)


def parse(
    text: str, about: Description | None, *, has_groups: bool = False
) -> tuple[list[BoardRule], list[str]]:
    """Parse the lines of the setting.

    Parameters
    ----------
    text : str
        One leaderboard per line.
    about : Description or None
        The metric. Without it, only names are checked.
    has_groups : bool
        Whether leaderboards can rank by the worst group.

    Returns
    -------
    list of BoardRule, list of str
        The valid rules, and one sentence for each other line, with its number.
    """
    rules, faults, lines_of = list[BoardRule](), list[str](), dict[str, int]()
    values = _values(about, has_groups=has_groups) if about else {}
    for number, line in enumerate(text.splitlines(), 1):
        name, equals, value = (_spaced(part) for part in line.partition("="))
        try:
            key = _key(name, value if equals else "", number, lines_of)
            if about:
                rules.append(_rule(name, key, value, about, values))
        except ValueError as error:
            where = f"line {number} ({name})" if name else f"line {number}"
            faults.append(f"Named leaderboards, {where}: {error}.")
    return rules, faults


def _key(name: str, value: str, number: int, lines_of: dict[str, int]) -> str:
    """Return the key of a line's name; raise ValueError. `lines_of` are the lines by key so far."""
    if not (name and value):
        raise ValueError("write a name, an equals sign and a value, such as Fairness = worst group")
    if len(name) > NAME_MAX_LENGTH:
        raise ValueError(f"the name must have at most {NAME_MAX_LENGTH} characters")
    key = key_of(name)
    if (first := lines_of.setdefault(key, number)) != number:
        raise ValueError(f"line {first} has the same address, {key}. Choose another name")
    if number > MOST_BOARDS:
        raise ValueError(f"there can be at most {MOST_BOARDS} named leaderboards")
    return key


def key_of(name: str) -> str:
    """Return the key of a name, such as ``worst-group``; names without letters from a to z get a hash."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    key = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:KEY_MAX_LENGTH].strip("-")
    return key or f"board-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _values(about: Description, *, has_groups: bool) -> dict[str, BoardValue]:
    """Return the values by which leaderboards can rank, by name, title and heading."""
    score = BoardValue(SCORE, SCORE, about.direction)
    values = {SCORE: score}
    if has_groups:
        values[WORST_GROUP] = BoardValue(WORST_GROUP, WORST_GROUP, about.direction)
    for kind in ("name", "title", "heading"):
        for each in about.terms:
            term = BoardValue(each.name, each.title, each.direction, is_term=True)
            values.setdefault(_folded(getattr(each, kind)) or term.name, term)
    values.setdefault(OVERALL, score)
    return values


def _rule(name: str, key: str, text: str, about: Description, values: Mapping[str, BoardValue]) -> BoardRule:
    """Return the rule of a line; raise ValueError."""
    text = _folded(text)
    rest, _, last = text.rpartition(" ")
    chosen = Direction(last) if last in list(Direction) and text not in values else None
    parts = tuple(_parts(rest if chosen else text, values))
    highest = {(each.direction is Direction.HIGHEST) is (weight > 0) for weight, each in parts}
    if not chosen and len(highest) > 1:
        raise ValueError("the values have different directions, so add lowest or highest at the end")
    direction = chosen or (Direction.HIGHEST if highest.pop() else Direction.LOWEST)
    rule = BoardRule(name, key, parts, direction, about.decimals)
    is_term = rule.single is not None and rule.single.is_term
    return replace(rule, decimals=about.decimals_of_terms) if is_term else rule


def _parts(text: str, values: Mapping[str, BoardValue]) -> Iterator[tuple[float, BoardValue]]:
    """Yield the weights and values of a sum whose signs are surrounded by spaces; raise ValueError."""
    first = text[0] if text[:1] in ("+", "-") else "+"
    signs = [first, *_OPERATOR.split(text.removeprefix(first).strip())]
    for sign, part in zip(signs[::2], signs[1::2], strict=True):
        match = _WEIGHTED.fullmatch(part)
        if not match:
            raise ValueError(f"a value is missing in {text!r}")
        weight = float(f"{sign}{match[1] or 1}")
        if not 0 < abs(weight) <= LARGEST_WEIGHT:
            raise ValueError(f"a weight must be above 0 and at most {LARGEST_WEIGHT:,.0f}")
        if match[2] not in values:
            known = listed(list(dict.fromkeys(each.name for each in values.values())), most=_SHOWN_NAMES)
            raise ValueError(f"{match[2]!r} is not a value of this metric, which has {known}")
        yield weight, values[match[2]]


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _folded(text: str) -> str:
    return _spaced(text.translate(_SIGNS)).casefold()
