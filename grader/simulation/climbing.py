"""Attacks that climb: files that each are a step better, random files summed up, noise that is kept."""

import numpy as np

from grader.simulation.attackers import Attacker, Outcome
from grader.simulation.decoding import levels, odds_from
from grader.simulation.oracle import Oracle


def slow_climb(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Restore enough sure positives in each file that it is shown, and read a few rows from what is shown."""
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
    """Send noise, and add the files up with the sign of what each scored; what is not shown counts little."""
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
    """Begin with noise, add more of it in each file, and keep what is shown as better than the best."""
    best = attacker.rng.normal(size=attacker.rows)
    most = oracle.send(best).score_units
    for number in range(attacker.files - 1):
        tried = best + attacker.rng.normal(size=attacker.rows) / np.sqrt(1 + number / 10)
        shown = oracle.send(tried).score_units
        if shown is not None and (most is None or shown > most):
            best, most = tried, shown
    return Outcome(np.empty(0, np.int64), np.empty(0, np.bool_), best)
