"""Whole trials: every attack and the honest teams, in several modes and competitions, with intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from grader.feedback import Rule
from grader.feedback.ladder import UNITS, safe_step
from grader.metrics.expected_error import paired_standard_error, score_standard_error
from grader.simulation.competitions import Competition, FloatArray
from grader.simulation.honest_teams import TEAMS, Entry, Honest, Seen, seen, teams
from grader.simulation.suite import ATTACKS, Gain, attack
from grader.visibility import Step

_QUANTILE = 1.96


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over competitions with its 95 % interval; `error` is half of its width, None for one alone."""

    value: float
    error: float | None

    @classmethod
    def of(cls, values: Sequence[float] | FloatArray) -> "Mean":
        """Return the mean of one value of each competition."""
        found = np.asarray(values, np.float64)
        spread = None
        if found.size > 1:
            spread = _QUANTILE * float(found.std(ddof=1)) / math.sqrt(found.size)
        return cls(float(found.mean()), spread)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - (self.error or 0.0)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + (self.error or 0.0)


@dataclass(frozen=True, slots=True)
class Attacked:
    """What one attack gained, over all competitions; None is what it does not aim at.

    Attributes
    ----------
    name : str
    rows : int
        Public rows whose labels it wanted, on average.
    right, baseline : float or None
        The share it got right, and the larger of what its own model and "negative" get right.
    points : Mean or None
        The difference, in percentage points.
    boost, shown : Mean or None
        Of files of noise: standard errors above chance, in truth on the public split and as shown.
    lift : Mean or None
        By how much the public score of its own file rises.
    """

    name: str
    rows: int
    right: float | None = None
    baseline: float | None = None
    points: Mean | None = None
    boost: Mean | None = None
    shown: Mean | None = None
    lift: Mean | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """What honest teams see, over all competitions, as shares.

    Attributes
    ----------
    seen, clear, false : Mean
        Of all true improvements, of those beyond two standard errors, and of the other files, how many are
        shown as a new best.
    correlation : Mean
        Of the public leaderboard with the truth, by rank.
    """

    seen: Mean
    clear: Mean
    false: Mean
    correlation: Mean


@dataclass(frozen=True, slots=True)
class Trial:
    """Everything that was measured of one mode."""

    mode: str
    step: float | None
    files: int
    competitions: int
    attacks: tuple[Attacked, ...]
    honest: Progress | None

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)


def proposed_step(competition: Competition) -> Step:
    """Return the step that is proposed for a competition with these rows."""
    error = score_standard_error(competition.split, competition.settings)
    return safe_step(paired_standard_error(error)) if error else Step.OF_0_005


def run(
    competitions: Callable[[int], Competition],
    rules: Sequence[Rule],
    *,
    files: int,
    seeds: int,
    team_count: int = TEAMS,
    attacks: Sequence[str] = tuple(ATTACKS),
    progress: Callable[[int, int], None] | None = None,
) -> list[Trial]:
    """Try every rule in as many competitions as there are seeds.

    Parameters
    ----------
    competitions : callable
        From a seed to a competition.
    rules : sequence of Rule
    files, seeds, team_count : int
        Files of an attacker's account, competitions, and honest teams in each.
    attacks : sequence of str
        Names in `ATTACKS`.
    progress : callable
        Called with how many parts are done, and of how many.

    Returns
    -------
    list of Trial
        In the order of the rules.
    """
    gains: dict[tuple[int, str], list[Gain]] = {}
    sights: dict[int, list[Seen]] = {}
    total, done = seeds * (bool(team_count) + len(rules) * len(attacks)), 0
    for seed in range(seeds):
        competition = competitions(seed)
        honest = Honest(competition, seed)
        entries: list[list[Entry]] = []
        if team_count:
            entries = teams(competition, honest, count=team_count, seed=seed)
            done += 1
            _tell(progress, done, total)
        for number, rule in enumerate(rules):
            if entries:
                sights.setdefault(number, []).append(seen(entries, rule))
            for name in attacks:
                found = attack(name, competition, honest, rule, files=files, seed=seed)
                gains.setdefault((number, name), []).append(found)
                done += 1
                _tell(progress, done, total)
    return [
        Trial(
            mode=rule.feedback.value,
            step=rule.step_units / UNITS if rule.feedback.has_step else None,
            files=files,
            competitions=seeds,
            attacks=tuple(attacked(name, gains[number, name]) for name in attacks),
            honest=_progress(sights[number]) if team_count else None,
        )
        for number, rule in enumerate(rules)
    ]


def _tell(progress: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def attacked(name: str, gains: Sequence[Gain]) -> Attacked:
    """Sum up what one attack gained in several competitions."""
    shown = [gain.shown for gain in gains if gain.shown is not None]
    boosts = [gain.boost for gain in gains if gain.boost is not None]
    if boosts:
        return Attacked(name, 0, boost=Mean.of(boosts), shown=Mean.of(shown) if shown else None)
    right, own, negative, lift = (
        np.array([getattr(gain, what) for gain in gains]) for what in ("right", "own", "negative", "lift")
    )
    baseline = own if own.mean() >= negative.mean() else negative
    return Attacked(
        name,
        round(float(np.mean([gain.rows for gain in gains]))),
        right=float(right.mean()),
        baseline=float(baseline.mean()),
        points=Mean.of(100 * (right - baseline)),
        lift=Mean.of(lift),
    )


def _progress(sights: Sequence[Seen]) -> Progress:
    def share(some: str, of: str) -> Mean:
        return Mean.of([getattr(each, some) / max(getattr(each, of), 1) for each in sights])

    return Progress(
        seen=share("seen", "improvements"),
        clear=share("clear_seen", "clear"),
        false=share("false", "others"),
        correlation=Mean.of([each.correlation for each in sights]),
    )
