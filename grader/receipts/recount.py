"""Second implementation of the score: sorted lists, exact fractions, no NumPy."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

TERMS = ("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
DIGITS = 80
EXACT_POWERS = 64


class Row(NamedTuple):
    """One row of a split with its id, class and mentioned identities."""

    row_id: str
    is_positive: bool
    mentions: frozenset[str]


class RowClass:
    """The predictions for the rows of a class in ascending order, for every subset of the identities."""

    def __init__(self, rows: Iterable[Row], predictions: Mapping[str, float]) -> None:
        # Only a few sets of identities occur. Sorting the concatenation of sorted lists just merges them.
        self._groups: dict[frozenset[str], list[float]] = {}
        for row in rows:
            self._groups.setdefault(row.mentions, []).append(predictions[row.row_id])
        for group in self._groups.values():
            group.sort()

    def values(self) -> list[float]:
        """Return the predictions for all rows."""
        return sorted(chain.from_iterable(self._groups.values()))

    def of(self, name: str, *, is_mentioned: bool) -> list[float]:
        """Return the predictions for the rows that mention an identity, or for those that do not."""
        groups = (group for names, group in self._groups.items() if (name in names) is is_mentioned)
        return sorted(chain.from_iterable(groups))


@dataclass(frozen=True, slots=True)
class RecountSettings:
    """The settings of a score as stored in its scoring version."""

    identities: tuple[str, ...]
    power: float
    weights: Mapping[str, Fraction]
    label_threshold: float
    identity_threshold: float
    skips_undefined: bool

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "RecountSettings":
        """Create settings from ``{"identities": […], "metric": {…}}``."""
        metric = data["metric"]
        return cls(
            identities=tuple(data["identities"]),
            power=float(metric["power"]),
            weights={term: Fraction(float(metric["weights"][term])) for term in TERMS},
            label_threshold=float(metric["label_threshold"]),
            identity_threshold=float(metric["identity_threshold"]),
            skips_undefined=metric["undefined"] == "skip",
        )


def count(rows: Sequence[Row], predictions: Mapping[str, float], settings: RecountSettings) -> dict[str, Any]:
    """Count the pairs of a split: 2 for each pair won by the first set, 1 for each tie."""
    positives = RowClass((row for row in rows if row.is_positive), predictions)
    negatives = RowClass((row for row in rows if not row.is_positive), predictions)
    own, other = positives.values(), negatives.values()
    return {
        "rows": len(rows),
        "positives": len(own),
        "overall_wins": _wins(own, other),
        "identities": [_count_identity(name, positives, negatives) for name in settings.identities],
    }


def _count_identity(name: str, positives: RowClass, negatives: RowClass) -> dict[str, Any]:
    own_positives, other_positives = (positives.of(name, is_mentioned=each) for each in (True, False))
    own_negatives, other_negatives = (negatives.of(name, is_mentioned=each) for each in (True, False))
    return {
        "name": name,
        "in_score": True,
        "positives": len(own_positives),
        "negatives": len(own_negatives),
        "subgroup_wins": _wins(own_positives, own_negatives),
        "bpsn_wins": _wins(other_positives, own_negatives),
        "bnsp_wins": _wins(own_positives, other_negatives),
        "positive_background_wins": _wins(other_positives, own_positives),
        "negative_background_wins": _wins(other_negatives, own_negatives),
    }


def _wins(first: Sequence[float], second: Sequence[float]) -> int:
    # Each pair counts 2 in total, so the wins of both sets add up to twice the number of pairs.
    if len(first) > len(second):
        return 2 * len(first) * len(second) - _wins(second, first)
    lower = [bisect_left(second, value) for value in first]
    # Lower values count twice and ties once. The last item of `guarded` is not equal to any prediction.
    guarded = [*second, math.inf]
    ties = sum(
        bisect_right(second, value, start) - start
        for value, start in zip(first, lower, strict=True)
        if guarded[start] == value
    )
    return 2 * sum(lower) + ties


def score(counts: Mapping[str, Any], settings: RecountSettings) -> dict[str, float | None]:
    """Return the score and its four terms, each rounded once; undefined values are None."""
    positives, identities = counts["positives"], counts["identities"]
    negatives = counts["rows"] - positives
    aucs: dict[str, list[Fraction | None]] = {
        "subgroup_auc": [
            _auc(each["subgroup_wins"], each["positives"], each["negatives"]) for each in identities
        ],
        "bpsn_auc": [
            _auc(each["bpsn_wins"], positives - each["positives"], each["negatives"]) for each in identities
        ],
        "bnsp_auc": [
            _auc(each["bnsp_wins"], each["positives"], negatives - each["negatives"]) for each in identities
        ],
    }
    terms = {"overall_auc": _auc(counts["overall_wins"], positives, negatives)}
    terms |= {name: _mean(values, settings) for name, values in aucs.items()}
    return {"score": _rounded(_weighted(terms, settings))} | {
        name: _rounded(term) for name, term in terms.items()
    }


def _auc(wins: int, first: int, second: int) -> Fraction | None:
    return Fraction(wins, 2 * first * second) if first and second else None


def _mean(aucs: Sequence[Fraction | None], settings: RecountSettings) -> Fraction | None:
    defined = [auc for auc in aucs if auc is not None]
    if not defined or (len(defined) < len(aucs) and not settings.skips_undefined):
        return None
    return power_mean(defined, settings.power)


def _weighted(terms: Mapping[str, Fraction | None], settings: RecountSettings) -> Fraction | None:
    total = Fraction(0)
    used = Fraction(0)
    for name, term in terms.items():
        weight = settings.weights[name]
        if term is not None:
            total += weight * term
            used += weight
        elif weight:
            return None
    return total / used


def power_mean(values: Sequence[Fraction], p: float) -> Fraction:
    """Return the power mean of non-negative values, with far more digits than a float has."""
    if math.isinf(p):
        return max(values) if p > 0 else min(values)
    if min(values) == max(values):
        return values[0]
    if p <= 0 and not min(values):
        return Fraction(0)
    if p and p.is_integer() and abs(p) <= EXACT_POWERS:
        mean = sum((value ** int(p) for value in values), Fraction(0)) / len(values)
        root = _root(mean, int(abs(p)))
        return root if p > 0 else 1 / root
    return _transcendental_mean(values, p)


def _root(value: Fraction, degree: int) -> Fraction:
    """Return the root of a positive fraction, computed as an integer root at 80 decimal places."""
    scaled = value.numerator * 10 ** (DIGITS * degree) // value.denominator
    # The initial value is above the root, so the values of Newton's method decrease monotonically.
    root = 1 << -(-scaled.bit_length() // degree)
    while True:
        lower = ((degree - 1) * root + scaled // root ** (degree - 1)) // degree
        if lower >= root:
            return Fraction(root, 10**DIGITS)
        root = lower


def _transcendental_mean(values: Sequence[Fraction], p: float) -> Fraction:
    # A small exponent brings the powers close to 1, which loses one digit per leading zero of p.
    zeros = max(0, -math.floor(math.log10(abs(p)))) if p else 0
    pivot = max(values) if p > 0 else min(values)
    with localcontext(Context(prec=DIGITS + 2 * zeros, Emax=MAX_EMAX, Emin=MIN_EMIN)):
        ratios = [Decimal(r.numerator) / Decimal(r.denominator) for r in (value / pivot for value in values)]
        if not p:
            mean = (sum((ratio.ln() for ratio in ratios), Decimal(0)) / len(ratios)).exp()
        else:
            exponent = Decimal(p)
            powers = [(exponent * ratio.ln()).exp() if ratio else Decimal(0) for ratio in ratios]
            mean = ((sum(powers, Decimal(0)) / len(powers)).ln() / exponent).exp()
    return pivot * Fraction(mean)


def _rounded(value: Fraction | None) -> float | None:
    return None if value is None else value.numerator / value.denominator
