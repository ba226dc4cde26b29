"""Attacks that improve a file step by step or probe the ladder's threshold."""

from dataclasses import dataclass

import numpy as np

from grader.simulation.attackers import Attacker, Outcome, levels, logit, odds_from
from grader.simulation.competitions import BoolArray, FloatArray, IndexArray, Oracle

_SHOWN = 0.15
"""The target share of files with a shown score; each such file uses up known positives."""
_STRENGTHS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)


def slow_climb(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Restore known positives in each file so that its score is shown, and decode a few rows."""
    sizes = {name: int(rows.sum()) for name, rows in attacker.mentions.items()}
    target = attacker.mentions[sorted(sizes, key=sizes.__getitem__)[len(sizes) // 2]]
    reserve = attacker.rng.permutation(np.flatnonzero(attacker.plain & (attacker.belief > 0.6)))
    gain = 2 * attacker.weight / attacker.positives(np.ones(attacker.rows, np.bool_)) * attacker.public_share
    step = attacker.rule.step_units / 100_000 if attacker.rule.feedback.is_coarse else 1e-3
    stride = max(1, round(1.5 * step / gain))
    files = min(attacker.files, 1 + reserve.size // stride)
    unit = attacker.weight * attacker.steepness / attacker.positives(target)
    error = attacker.error + gain * np.sqrt(stride)
    size = max(1, min(4, int(np.log2(max(unit / (2 * error), 2)))))
    aimed = attacker.hard(target, size * (files - 1))
    batches = [aimed[start : start + size] for start in range(0, aimed.size, size)]
    height = attacker.level(levels(size), ~target)
    base = np.where(target, attacker.low - 2, attacker.own)
    base[reserve] = attacker.low - 1
    shown: list[float | None] = [oracle.send(base).score]
    for number, batch in enumerate(batches, start=1):
        file = base.copy()
        file[reserve[: number * stride]] = attacker.high
        file[batch] = height[: batch.size]
        shown.append(oracle.send(file).score)
    climbed = np.array([number for number, score in enumerate(shown) if score is not None], np.float64)
    scores = np.array([score for score in shown if score is not None])
    if scores.size < 3:
        readings: list[float | None] = [None] * len(batches)
    else:
        slope, start = np.polyfit(climbed, scores, 1)
        usual = float(attacker.belief[aimed].mean()) * attacker.public_share * unit * levels(size).sum()
        readings = [
            None if score is None else score - start - slope * number + usual
            for number, score in enumerate(shown[1:], start=1)
        ]
    return Outcome.of(attacker, aimed, odds_from(attacker, batches, readings, unit=unit, error=error))


def random_boosting(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Send noise, and sum the files by the signs of their scores; files with hidden scores weigh little."""
    files, worths = [], []
    for _ in range(attacker.files):
        files.append(attacker.rng.normal(size=attacker.rows).astype(np.float32))
        worths.append(oracle.send(files[-1].astype(np.float64)).score)
    shown = [worth for worth in worths if worth is not None]
    if len(shown) == len(worths):
        signs = np.sign(np.array(shown) - np.median(shown))
    else:
        hidden = -len(shown) / max(len(worths) - len(shown), 1)
        signs = np.array([1.0 if worth is not None else hidden for worth in worths])
    total = np.zeros(attacker.rows)
    for sign, file in zip(signs, files, strict=True):
        total += sign * file
    best = total if np.any(total) else files[0].astype(np.float64)
    return Outcome(np.empty(0, np.int64), np.empty(0, np.bool_), best)


def kept_noise(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Start with noise, add more noise in each file, and keep the files shown as a new best."""
    best = attacker.rng.normal(size=attacker.rows)
    most = oracle.send(best).score_units
    for number in range(attacker.files - 1):
        tried = best + attacker.rng.normal(size=attacker.rows) / np.sqrt(1 + number / 10)
        shown = oracle.send(tried).score_units
        if shown is not None and (most is None or shown > most):
            best, most = tried, shown
    return Outcome(np.empty(0, np.int64), np.empty(0, np.bool_), best)


@dataclass
class _Climber:
    """The state of an account: the restored and raised rows of its best shown file."""

    restored: int
    raised: BoolArray
    stride: float = 4.0
    best: int = -1


def subsets(oracle: Oracle, attacker: Attacker, *, accounts: int = 1, rows: int | None = None) -> Outcome:
    """Raise random halves of the unknown rows near the threshold, and compare the responses.

    All known positives start at the bottom. Each file restores enough of them that about one file in seven is
    shown as a new best. A row is probably positive if files in which it is raised are shown more often. The
    default number of target rows is the number of files.
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
    """Return the effect of raising each row on the number of new bests, in standard deviations."""
    design = np.column_stack([np.ones(strides.size), np.log(strides)])
    weights = np.zeros(2)
    for _ in range(25):  # logistic regression on the number of restored rows
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        curvature = design.T @ (design * (chance * (1 - chance))[:, None]) + 0.1 * np.eye(2)
        weights = weights + np.linalg.solve(curvature, design.T @ (news - chance) - 0.1 * weights)
    chance = np.clip(1 / (1 + np.exp(-np.clip(design @ weights, -30, 30))), 0.02, 0.98)
    spread = np.sqrt(((chance * (1 - chance))[:, None] * raised**2).sum(axis=0))
    found: FloatArray = ((news - chance)[:, None] * raised).sum(axis=0) / np.maximum(spread, 1e-9)
    return found


def _odds(attacker: Attacker, aimed: IndexArray, evidence: FloatArray) -> FloatArray:
    """Return the log odds for the maximum likelihood estimate of the strength of the evidence."""
    belief = attacker.belief[aimed]
    prior = belief * attacker.public_share

    def likelihood(strength: float) -> float:
        ratio = np.exp(strength * evidence - strength**2 / 2)
        return float(np.log(prior * ratio + 1 - prior).sum())

    strength = max(_STRENGTHS, key=likelihood)
    odds: FloatArray = logit(belief) + strength * evidence - strength**2 / 2
    return odds
