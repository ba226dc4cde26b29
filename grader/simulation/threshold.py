"""Attacks on the ladder itself: known positives carry a file to the threshold, unknown rows decide."""

from dataclasses import dataclass

import numpy as np

from grader.simulation.attackers import Attacker, Outcome, logit
from grader.simulation.competitions import BoolArray, FloatArray, IndexArray
from grader.simulation.oracle import Oracle

_SHOWN = 0.15
"""How many of the files are to be shown: each that is costs known positives."""
_STRENGTHS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)


@dataclass
class _Climber:
    """An account on its way up: what its best shown file had restored and raised."""

    restored: int
    raised: BoolArray
    stride: float = 4.0
    best: int = -1


def subsets(oracle: Oracle, attacker: Attacker, *, accounts: int = 1, rows: int | None = None) -> Outcome:
    """Raise random halves of the unknown rows at the threshold, and weigh which halves were shown.

    All sure positives begin at the bottom, and each file restores so many of them that about one in seven is
    shown as a new best. What is shown more often with a row than without it says that the row is positive.
    It wants as many rows as it sends files, unless it is told how many.
    """
    aimed = attacker.hard(attacker.plain, rows or accounts * attacker.files)
    sure = np.setdiff1d(np.flatnonzero(attacker.plain & (attacker.belief > 0.6)), aimed)
    reserve = attacker.rng.permutation(sure)
    climbers: list[_Climber] = []
    raised, strides, news = [], [], []
    for account in range(accounts):
        first = _Climber(0, attacker.rng.random(aimed.size) < 0.5)
        answer = oracle.send(_file(attacker, aimed, reserve, 0, first.raised), account)
        first.best = answer.score_units or -1
        climbers.append(first)
    for _ in range(attacker.files - 1):
        for account, climber in enumerate(climbers):
            stride = max(round(climber.stride), 1)
            if climber.restored + stride > reserve.size:
                continue
            tried = attacker.rng.random(aimed.size) < 0.5
            file = _file(attacker, aimed, reserve, climber.restored + stride, tried)
            units = oracle.send(file, account).score_units
            is_news = units is not None and units > climber.best
            raised.append(tried.astype(np.float64) - climber.raised)
            strides.append(stride)
            news.append(is_news)
            climber.stride *= float(np.exp(0.25 * (_SHOWN - is_news)))
            if is_news:
                climber.restored, climber.raised = climber.restored + stride, tried
                climber.best = units if units is not None else climber.best
    if not raised:
        return Outcome.of(attacker, aimed, logit(attacker.belief[aimed]))
    evidence = _evidence(np.array(raised), np.array(strides, np.float64), np.array(news, np.float64))
    return Outcome.of(attacker, aimed, _odds(attacker, aimed, evidence))


def _file(
    attacker: Attacker, aimed: IndexArray, reserve: IndexArray, restored: int, raised: BoolArray
) -> FloatArray:
    file, rng = attacker.own.copy(), attacker.rng
    file[reserve] = attacker.low + rng.random(reserve.size)
    file[reserve[:restored]] = attacker.high + rng.random(restored)
    file[aimed] = np.where(raised, attacker.high + 1, attacker.low - 1) + rng.random(aimed.size)
    return file


def _evidence(raised: FloatArray, strides: FloatArray, news: FloatArray) -> FloatArray:
    """Return for each row, in standard deviations, by how much more often files with it were news."""
    design = np.column_stack([np.ones(strides.size), np.log(strides)])
    weights = np.zeros(2)
    for _ in range(25):  # a logistic regression on how far a file climbed
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        curvature = design.T @ (design * (chance * (1 - chance))[:, None]) + 0.1 * np.eye(2)
        weights = weights + np.linalg.solve(curvature, design.T @ (news - chance) - 0.1 * weights)
    chance = np.clip(1 / (1 + np.exp(-np.clip(design @ weights, -30, 30))), 0.02, 0.98)
    spread = np.sqrt(((chance * (1 - chance))[:, None] * raised**2).sum(axis=0))
    found: FloatArray = ((news - chance)[:, None] * raised).sum(axis=0) / np.maximum(spread, 1e-9)
    return found


def _odds(attacker: Attacker, aimed: IndexArray, evidence: FloatArray) -> FloatArray:
    """Return the odds by the strength of evidence that makes what was seen most likely."""
    belief = attacker.belief[aimed]
    prior = belief * attacker.public_share

    def likelihood(strength: float) -> float:
        ratio = np.exp(strength * evidence - strength**2 / 2)
        return float(np.log(prior * ratio + 1 - prior).sum())

    strength = max(_STRENGTHS, key=likelihood)
    odds: FloatArray = logit(belief) + strength * evidence - strength**2 / 2
    return odds
