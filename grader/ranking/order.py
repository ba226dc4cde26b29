"""Rounding of scores, rank order of teams, tie-breaking, and automatic selection.

A score is displayed with the decimals of its metric, 5 by default, and stored as an integer (see `Scale`). A
term has 4 decimals, and a cell of a per-identity table has 2, as in the papers. Rounding is half to even on
the exact value of the float.

Teams are ranked by the displayed score, best first. Equal scores are ordered by earlier acceptance, then
by lower submission id. Ranks run from 1 to n and are never shared, so that everyone can check the order.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_EVEN, Decimal
from operator import attrgetter
from typing import Any, NamedTuple

SCORE_DECIMALS = 5
# A larger number of units could not be compared exactly in JavaScript and JSON.
LARGEST_UNITS = 2**53
# A product below the limit and this close to an integer is not a rounding tie, however the product itself was
# rounded.
_CLEARLY_NEARER = 0.49
_EXACT_LIMIT = 2.0**40
TERM_DECIMALS = 4
CELL_DECIMALS = 2
AUTOMATIC_SELECTION_COUNT = 2


class Column(NamedTuple):
    """A column of the rank order: its name in `TeamEntry` and in the table, and its direction."""

    name: str
    is_highest_first: bool = False


# This is the only definition of the order. Each column breaks the ties of the preceding columns.
COLUMNS = (Column("score_units", is_highest_first=True), Column("submitted_at"), Column("submission_id"))
_values = attrgetter(*(column.name for column in COLUMNS))


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """A submission that can represent its team.

    Attributes
    ----------
    team_id, submission_id : int
        Ids of the team and of the submission.
    score_units : int
        The displayed score in units of its scale.
    submitted_at : datetime
        Time of acceptance, which a rescoring does not change.
    """

    team_id: int
    submission_id: int
    score_units: int
    submitted_at: datetime


def round_half_even(value: float, decimals: int) -> Decimal:
    """Round the exact value of a float, half to even.

    Parameters
    ----------
    value : float
        A finite number.
    decimals : int
        Digits after the decimal point.

    Returns
    -------
    Decimal
        The nearest multiple of ``10**-decimals``, or the even one of two equally near multiples. The result
        is never minus zero.
    """
    if abs(value) >= LARGEST_UNITS:  # an integer, with too many digits for `quantize`
        return Decimal(value)
    return Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN) + 0


@dataclass(frozen=True, slots=True)
class Scale:
    """The scores of one metric as integers, and the display of these integers.

    The units of a score are its displayed value without the decimal point. If the lowest score is the best,
    they have the opposite sign, so that more units are always better. Scores of 2^53 units or more have six
    significant digits, and their units are consecutive floats instead of multiples of a unit.

    Attributes
    ----------
    decimals : int
        Digits after the decimal point of the metric.
    is_lowest_best : bool
        Whether the lowest score is the best.
    shown_decimals : int or None
        Digits that are displayed, if there are fewer.
    """

    decimals: int = SCORE_DECIMALS
    is_lowest_best: bool = False
    shown_decimals: int | None = None

    def units(self, score: float) -> int:
        """Return a score as displayed, in units."""
        if self.is_lowest_best:
            score = -score
        scaled = score * 10.0**self.decimals
        # This shortcut matters for leaderboards with 100,000 submissions, for which every score is rounded.
        if abs(scaled) < _EXACT_LIMIT and abs(scaled - (nearest := round(scaled))) < _CLEARLY_NEARER:
            return nearest
        if abs(scaled) >= LARGEST_UNITS:
            beyond = _bits(max(abs(float(f"{score:.5e}")), self._limit)) - _bits(self._limit)
            return (LARGEST_UNITS + beyond) * (1 if score > 0 else -1)
        return int(round_half_even(score, self.decimals).scaleb(self.decimals))

    def value(self, units: int) -> float:
        """Return the score with these units, or the change of a score by these units."""
        return float(self.exact(units))

    def text(self, units: int) -> str:
        """Return a score as text, such as ``0.93412``, or ``1.00000e+12`` for 2^53 units or more."""
        if abs(units) >= LARGEST_UNITS:
            return f"{self.exact(units):.5e}"
        decimals = self.decimals if self.shown_decimals is None else self.shown_decimals
        return f"{self.exact(units):.{decimals}f}"

    def difference(self, one: int, other: int) -> int:
        """Return the units of the difference of two scores."""
        if max(abs(one), abs(other)) < LARGEST_UNITS:
            return one - other
        return self.units(self.value(one) - self.value(other))

    def size_text(self, units: int) -> str:
        """Return the size of a difference as text, without a sign."""
        return self.text(units).lstrip("-")

    def signed_text(self, units: int) -> str:
        """Return a change of a displayed score with its sign, such as ``+0.00120``."""
        return f"{'+' if self.exact(units) > 0 else ''}{self.text(units)}"

    def band(self, units: int, step: float) -> int:
        """Return the worst end of the band of width `step` that contains a score."""
        step_units = max(round(step * 10.0**self.decimals), 1)
        return units if abs(units) >= LARGEST_UNITS else units // step_units * step_units

    def exact(self, units: int) -> Decimal:
        """Return a displayed score, or the change of a score, as an exact number."""
        signed = -units if self.is_lowest_best else units
        if abs(units) < LARGEST_UNITS:
            return Decimal(signed).scaleb(-self.decimals)
        bits = abs(units) - LARGEST_UNITS + _bits(self._limit)
        (size,) = struct.unpack("<d", struct.pack("<q", bits))
        return Decimal(size).copy_sign(Decimal(signed))

    @property
    def _limit(self) -> float:
        """The score of 2^53 units."""
        return LARGEST_UNITS / 10.0**self.decimals


def _bits(value: float) -> int:
    """Return an integer that has the order of nonnegative floats."""
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return int(bits)


SCALE = Scale()


def term_text(value: float, decimals: int) -> str:
    """Return a term as text; a huge one has an exponent, as scores have."""
    return f"{value:.5e}" if abs(value) * 10**decimals >= LARGEST_UNITS else f"{value:.{decimals}f}"


def change_text(change: Decimal) -> str:
    """Return a change of a displayed score with its sign, such as ``+0.00120``."""
    digits = f"{change:.5e}" if abs(change) >= LARGEST_UNITS else f"{change:f}"
    return f"+{digits}" if change > 0 else digits


def error_text(error: float) -> str:
    """Return a standard error with one digit, or two after a leading 1: ``0.003``, ``0.0014``."""
    exact, rounded = f"{error:.1e}", f"{error:.0e}"
    if error >= LARGEST_UNITS:
        return rounded
    if not exact.startswith("1"):  # 0.0096 rounds to 0.01, written as 0.010
        exact = f"{float(rounded):.1e}"
    return f"{Decimal(exact if exact.startswith('1') else rounded):f}"


def rounded_cell(value: float | None) -> float | None:
    """Return a cell of a per-identity table as displayed, with 2 decimals; None if undefined."""
    return None if value is None else float(round_half_even(value, CELL_DECIMALS))


def order(entry: TeamEntry) -> tuple[Any, ...]:
    """Return the sort key of an entry: the better entry has the smaller key."""
    values = zip(COLUMNS, _values(entry), strict=True)
    return tuple([-value if column.is_highest_first else value for column, value in values])


def rank(entries: Iterable[TeamEntry]) -> tuple[TeamEntry, ...]:
    """Return the best entry of each team, best first: the first one has rank 1."""
    best = dict[int, TeamEntry]()
    for entry in sorted(entries, key=order):
        best.setdefault(entry.team_id, entry)
    return tuple(best.values())


def select_automatically(
    public_entries: Iterable[TeamEntry],
    *,
    picked: Iterable[int] = (),
    count: int = AUTOMATIC_SELECTION_COUNT,
) -> tuple[int, ...]:
    """Choose the submissions of a team that compete on the private leaderboard.

    Parameters
    ----------
    public_entries : iterable of TeamEntry
        The team's scored submissions with their exact public scores, regardless of the feedback mode.
    picked : iterable of int
        Ids of the submissions that the team itself selected. If there are more than `count` after a merger,
        the best of them by public score are kept.
    count : int
        Maximum number of submissions that compete.

    Returns
    -------
    tuple of int
        The selected ids, filled up to `count` with others, best first by public score. Private scores are not
        used. In a coarse mode, the choice depends on hidden public scores, so it is not shown before the
        reveal.
    """
    selected = set(picked)
    ranked = sorted(public_entries, key=lambda entry: (entry.submission_id not in selected, order(entry)))
    return tuple(entry.submission_id for entry in ranked[:count])
