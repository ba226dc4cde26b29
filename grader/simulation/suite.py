"""The attack suite: every attack by name, and what it gained in one competition."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from grader.feedback import Rule
from grader.feedback.ladder import UNITS
from grader.simulation import climbing_attacks, row_attacks
from grader.simulation.attackers import Attacker, Outcome
from grader.simulation.competitions import Competition, MemoryOracle, Oracle
from grader.simulation.honest_teams import Honest
from grader.visibility import Feedback

ACCOUNTS = 5
_OWN_VARIANCE = 0.15

Attack = Callable[[Oracle, Attacker], Outcome]


def collusion(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Let five accounts share what they see: at the threshold of a ladder, else by the weakest subgroup."""
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
    """What an attack gained in one competition; None is what it did not aim at.

    Attributes
    ----------
    rows : int
        Public rows among those whose labels it wanted.
    right, own, negative : float or None
        The share of them that it gets right, that its own model gets right, and that "negative" gets right.
    boost : float or None
        Of files of noise: by how many standard errors the best one's public score lies above chance.
    shown : float or None
        The same of the best score that was shown.
    lift : float or None
        By how much the public score of the attacker's own file rises with what was learnt.
    """

    rows: int
    right: float | None = None
    own: float | None = None
    negative: float | None = None
    boost: float | None = None
    shown: float | None = None
    lift: float | None = None


def attacker_of(competition: Competition, honest: Honest, rule: Rule, *, files: int, seed: int) -> Attacker:
    """Return an attacker with a good model of its own, who knows nothing that is hidden."""
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
    """Run one attack in memory and return what it gained."""
    attacker = attacker_of(competition, honest, rule, files=files, seed=seed)
    oracle = MemoryOracle(competition, rule)
    outcome = ATTACKS[name](oracle, attacker)
    if outcome.aimed.size:
        return gain(competition, attacker, outcome)
    return boost(competition, attacker, outcome, oracle.best_shown)


def gain(competition: Competition, attacker: Attacker, outcome: Outcome) -> Gain:
    """Compare what an attack says of labels with what is true."""
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
    """Compare a file that was made of noise with noise."""
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
