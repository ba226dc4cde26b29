"""Trials of attacks and honest teams across feedback modes and competitions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from grader.feedback import Rule
from grader.feedback.ladder import UNITS, safe_step
from grader.metrics.expected_error import paired_standard_error, score_standard_error
from grader.simulation import climbing_attacks, row_attacks
from grader.simulation.attackers import Attacker, Outcome
from grader.simulation.competitions import Competition, FloatArray, MemoryOracle, Oracle
from grader.simulation.honest_teams import TEAMS, Entry, Honest, Seen, seen, teams
from grader.visibility import Feedback, Step

ACCOUNTS = 5
_OWN_VARIANCE = 0.15
_QUANTILE = 1.96

Attack = Callable[[Oracle, Attacker], Outcome]


def collusion(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Attack the ladder's threshold, or else the weakest subgroup, with five accounts."""
    if attacker.rule.feedback is Feedback.LADDER:
        return climbing_attacks.subsets(oracle, attacker, accounts=ACCOUNTS)
    return row_attacks.weakest_subgroup(oracle, attacker, ACCOUNTS)


ATTACKS: Mapping[str, Attack] = {
    "identity at the bottom": row_attacks.identity_at_the_bottom,
    "overall AUC by blocks": row_attacks.row_pairs,
    "score through the weakest subgroup": row_attacks.weakest_subgroup,
    "tables of all identities": row_attacks.sub_metrics,
    "slow climb": climbing_attacks.slow_climb,
    "random boosting": climbing_attacks.random_boosting,
    "kept noise": climbing_attacks.kept_noise,
    "five accounts together": collusion,
    "at the threshold": climbing_attacks.subsets,
    "five accounts on twenty rows": partial(climbing_attacks.subsets, accounts=ACCOUNTS, rows=20),
    "one row above an identity": row_attacks.row_above,
    "five accounts above an identity": partial(row_attacks.row_above, accounts=ACCOUNTS),
    "two identities at the bottom": row_attacks.two_at_the_bottom,
    "a nearly perfect identity": row_attacks.nearly_perfect,
}


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of an attack in one competition; quantities that the attack does not pursue are None.

    Attributes
    ----------
    rows : int
        The number of public target rows.
    right, own, negative : float or None
        The shares of labels that the attack, the attacker's own model, and the constant guess "negative" get
        right.
    boost : float or None
        For attacks with noise, the best file's true public score in standard errors above chance.
    shown : float or None
        The same for the best shown score.
    lift : float or None
        The increase of the attacker's own public score due to the decoded labels.
    """

    rows: int
    right: float | None = None
    own: float | None = None
    negative: float | None = None
    boost: float | None = None
    shown: float | None = None
    lift: float | None = None


def attacker_of(competition: Competition, honest: Honest, rule: Rule, *, files: int, seed: int) -> Attacker:
    """Return an attacker with a good model and without hidden knowledge."""
    rng = np.random.default_rng([15, seed])
    model = honest.model(rng, _OWN_VARIANCE)
    return Attacker(
        competition.mentions,
        float(competition.public.mean()),
        honest.predictions(model),
        honest.belief(model),
        rule,
        competition.settings.power,
        competition.settings.weights.bnsp_auc,
        files,
        rng,
    )


def attack(name: str, competition: Competition, honest: Honest, rule: Rule, *, files: int, seed: int) -> Gain:
    """Run one attack in memory and return its gain."""
    attacker = attacker_of(competition, honest, rule, files=files, seed=seed)
    oracle = MemoryOracle(competition, rule)
    outcome = ATTACKS[name](oracle, attacker)
    if outcome.aimed.size:
        return gain(competition, attacker, outcome)
    return boost(competition, attacker, outcome, oracle.best_shown)


def gain(competition: Competition, attacker: Attacker, outcome: Outcome) -> Gain:
    """Compare the labels that an attack has decoded with the true labels."""
    is_public = competition.public[outcome.aimed]
    rows = outcome.aimed[is_public]
    if not rows.size:
        return Gain(0, right=0.0, own=0.0, negative=0.0, lift=0.0)
    truth = competition.labels[rows]
    best, own = (
        competition.score(file, with_basis=False).file.score for file in (outcome.best, attacker.own)
    )
    return Gain(
        rows.size,
        right=float((outcome.guesses[is_public] == truth).mean()),
        own=float((attacker.guess[rows] == truth).mean()),
        negative=float((~truth).mean()),
        lift=best - own,
    )


def boost(competition: Competition, attacker: Attacker, outcome: Outcome, best_shown: int | None) -> Gain:
    """Compare a file that was built from noise with random noise."""
    best = competition.score(outcome.best).file
    sketch = best.basis.sketch if best.basis else None
    error = math.inf if sketch is None else float(np.linalg.norm(sketch))
    noise = [
        competition.score(attacker.rng.normal(size=attacker.rows), with_basis=False).file.score
        for _ in range(20)
    ]
    chance = float(np.mean(noise))
    shown = None if best_shown is None else (best_shown / UNITS - chance) / error
    return Gain(0, boost=(best.score - chance) / error, shown=shown)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over competitions; `error` is half the width of its 95 % interval, if defined."""

    value: float
    error: float | None

    @classmethod
    def of(cls, values: Sequence[float] | FloatArray) -> "Mean":
        """Return the mean of one value per competition."""
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
    """The gain of an attack over all competitions; quantities that the attack does not pursue are None.

    Attributes
    ----------
    name : str
    rows : int
        The mean number of public target rows.
    right, baseline : float or None
        The share of correct labels, and the larger of the shares of the attacker's own model and "negative".
    points : Mean or None
        The difference of these shares in percentage points.
    boost, shown : Mean or None
        For attacks with noise, the true and the shown public score in standard errors above chance.
    lift : Mean or None
        The increase of the attacker's own public score.
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
    """The improvements that honest teams see, over all competitions.

    Attributes
    ----------
    seen, clear, false : Mean
        The shares that are shown as a new best: of all true improvements, of improvements of more than two
        standard errors, and of all other files.
    correlation : Mean
        The rank correlation between the public leaderboard and the true scores.
    """

    seen: Mean
    clear: Mean
    false: Mean
    correlation: Mean


@dataclass(frozen=True, slots=True)
class Trial:
    """All results for one feedback mode."""

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
    """Return the step that the site suggests for a competition with these rows."""
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
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> list[Trial]:
    """Simulate every rule in one competition per seed.

    Parameters
    ----------
    competitions : callable
        Returns the competition for a seed.
    rules : sequence of Rule
    files, seeds, team_count : int
        The numbers of files per attacker's account, of competitions, and of honest teams in each of them.
    attacks : sequence of str
        Names in `ATTACKS`.
    progress : callable
        Called with the numbers of completed parts and of all parts.

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
            progress(done, total)
        for number, rule in enumerate(rules):
            if entries:
                sights.setdefault(number, []).append(seen(entries, rule))
            for name in attacks:
                found = attack(name, competition, honest, rule, files=files, seed=seed)
                gains.setdefault((number, name), []).append(found)
                done += 1
                progress(done, total)
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


def attacked(name: str, gains: Sequence[Gain]) -> Attacked:
    """Aggregate the gains of one attack in several competitions."""
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
