"""Attacks that arrange unknown rows so that scores reveal their labels.

An AUC of exactly 0 or 1 depends on the label of a single row. In that case, a ladder would disclose this
label if its error were undefined or much smaller than usual.
"""

from collections.abc import Callable

import numpy as np

from grader.simulation.attackers import Attacker, Outcome, levels, logit, odds_from
from grader.simulation.competitions import Answer, BoolArray, FloatArray, IndexArray, Oracle

_OVERALL, _BNSP = 0, 3
_OUT = 100.0
"""An offset that moves rows beyond all predictions of the attacker's own model."""
_PACE = 0.65
"""The factor by which each shown file reduces the remaining distance to the attacker's own model."""
_LEAST = 0.05
"""The remaining distance at which an account stops because no further improvement is possible."""
_SHOWN = np.array([[1.0, 1e-4], [1e-4, 1.0]])
"""Counts of hidden and shown files by label: files are almost never shown if it is negative, else always."""


def identity_at_the_bottom(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Decode an identity's labels from the BNSP term, raising seven rows per file."""
    name = of_size(attacker, 14)
    target = attacker.mentions[name]
    aimed = attacker.hard(target, 7 * (attacker.files - 1))
    unit = attacker.steepness / attacker.positives(target)

    def read(answer: Answer) -> float | None:
        return float(answer.terms[_BNSP] or 0) if answer.terms else answer.score

    is_term = not (attacker.rule.feedback.is_coarse or attacker.rule.feedback.value == "score")
    error, scale = (0.4e-4, 1.0) if is_term else (2e-3 + attacker.error, attacker.weight)
    return _probe(oracle, attacker, target, aimed, 7, read, unit * scale, error)


def row_pairs(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Decode labels of rows without identities from the overall AUC, or else from the score."""
    target = attacker.plain
    unit = 1 / attacker.positives(np.ones(attacker.rows, np.bool_))
    is_term = attacker.rule.feedback.value in ("open", "terms")
    size = 3 if is_term else 4
    # More rows at the bottom would make the readings too uneven to decode.
    aimed = attacker.hard(target, min(size * (attacker.files - 1), attacker.rows // 20))
    raised = np.zeros(attacker.rows, np.bool_)
    raised[aimed] = True

    def read(answer: Answer) -> float | None:
        return float(answer.terms[_OVERALL] or 0) if answer.terms else answer.score

    error, scale = (0.4e-4, 1.0) if is_term else (attacker.error + 0.5e-5, 2 * attacker.weight)
    return _probe(oracle, attacker, raised, aimed, size, read, unit * scale, error)


def weakest_subgroup(oracle: Oracle, attacker: Attacker, accounts: int = 1) -> Outcome:
    """Decode an identity's labels from the score only, with two files per batch of rows."""
    target = attacker.mentions[of_size(attacker, 1.0 if accounts == 1 else 2.0)]
    unit = attacker.weight * attacker.steepness / attacker.positives(target)
    size = max(1, min(6, int(np.log2(max(unit / (2 * attacker.error), 2)))))
    batches = _batches(attacker.hard(target, size * (accounts * attacker.files // 2)), size)
    height = attacker.level(levels(size), ~target)
    readings: list[float | None] = []
    for number, batch in enumerate(batches):
        before = _at_the_bottom(attacker, target)
        before[batch] = attacker.low - 1 + 0.01 * levels(batch.size)
        after = before.copy()
        after[batch] = height[: batch.size]
        low, high = (oracle.send(file, number % accounts).score for file in (before, after))
        readings.append(None if low is None or high is None else high - low)
    odds = odds_from(attacker, batches, readings, unit=unit, error=1.5 * attacker.error)
    return Outcome.of(attacker, np.concatenate(batches), odds)


def sub_metrics(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Decode the labels of all identities from their table, one or two rows per identity and file."""
    names = list(attacker.mentions)
    anyone = ~attacker.plain
    alone = np.sum(list(attacker.mentions.values()), axis=0) == 1
    batches: dict[str, list[IndexArray]] = {}
    for name in names:
        target = attacker.mentions[name] & alone
        size = 2 if attacker.positives(attacker.mentions[name]) < 25 else 1
        batches[name] = _batches(attacker.hard(target, size * (attacker.files - 1)), size)
    base = _at_the_bottom(attacker, anyone)
    height = attacker.level(levels(2), attacker.plain)
    zero = oracle.send(base).table
    readings: dict[str, list[float | None]] = {name: [] for name in names}
    for number in range(attacker.files - 1):
        file, asked = base.copy(), [name for name in names if number < len(batches[name])]
        for name in asked:
            batch = batches[name][number]
            file[batch] = height[: batch.size]
        table = oracle.send(file).table if asked else None
        for name in asked:
            known = table is not None and zero is not None
            readings[name].append(_cell(table, name) - _cell(zero, name) if known else None)
    odds = [
        odds_from(
            attacker,
            batches[name],
            readings[name],
            unit=1 / attacker.positives(attacker.mentions[name]),
            error=4e-3,
        )
        for name in names
        if batches[name]
    ]
    aimed = np.concatenate([rows for name in names for rows in batches[name]])
    return Outcome.of(attacker, aimed, np.concatenate(odds))


def _cell(table: object, name: str) -> float:
    return float(table[name][2] or 0)  # type: ignore[index]


def _probe(
    oracle: Oracle,
    attacker: Attacker,
    target: BoolArray,
    aimed: IndexArray,
    size: int,
    read: Callable[[Answer], float | None],
    unit: float,
    error: float,
) -> Outcome:
    """Send a file with all target rows at the bottom, then one file per batch of raised rows."""
    base = _at_the_bottom(attacker, target)
    height = attacker.level(levels(size), ~target)
    zero = read(oracle.send(base))
    batches = _batches(aimed, size)
    readings: list[float | None] = []
    for batch in batches[: attacker.files - 1]:
        file = base.copy()
        file[batch] = height[: batch.size]
        found = read(oracle.send(file))
        readings.append(None if found is None or zero is None else found - zero)
    odds = odds_from(attacker, batches, readings, unit=unit, error=error)
    return Outcome.of(attacker, np.concatenate(batches), odds)


def _at_the_bottom(attacker: Attacker, target: BoolArray) -> FloatArray:
    return np.where(target, attacker.low - 2, attacker.own)


def _batches(rows: IndexArray, size: int) -> list[IndexArray]:
    return [rows[start : start + size] for start in range(0, rows.size, size)]


def of_size(attacker: Attacker, per_file: float) -> str:
    """Return the smallest identity with enough rows for each file, or else the largest identity."""
    sizes = {name: int(rows.sum()) for name, rows in attacker.mentions.items()}
    enough = [name for name, size in sizes.items() if size >= per_file * attacker.files]
    return min(enough, key=sizes.__getitem__) if enough else max(sizes, key=sizes.__getitem__)


def row_above(oracle: Oracle, attacker: Attacker, *, accounts: int = 1) -> Outcome:
    """Move an identity to the top and a row above it; the BPSN AUC is 0 if the row is negative."""
    return _one_by_one(
        oracle, attacker, _smallest(attacker, 1), attacker.plain, 1.0, accounts=accounts, told=_SHOWN
    )


def two_at_the_bottom(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Move two identities below all other rows, and one row of the smaller identity above them."""
    return _one_by_one(oracle, attacker, _smallest(attacker, 2), _alone(attacker), -1.0)


def nearly_perfect(oracle: Oracle, attacker: Attacker) -> Outcome:
    """Move an identity's rows to both ends, so that its AUCs are almost 1, and raise one row."""
    ends = np.where(attacker.guess, 1.0, -1.0)
    return _one_by_one(oracle, attacker, _smallest(attacker, 1), _alone(attacker), ends)


def _alone(attacker: Attacker) -> BoolArray:
    """Return the rows of the smallest identity that mention no other identity."""
    alone: BoolArray = _smallest(attacker, 1) & (np.sum(list(attacker.mentions.values()), axis=0) == 1)
    return alone


def _smallest(attacker: Attacker, count: int) -> BoolArray:
    """Return the rows of the smallest identities."""
    by_size = sorted(attacker.mentions.values(), key=np.count_nonzero)
    found: BoolArray = np.any(by_size[:count], axis=0)
    return found


def _one_by_one(
    oracle: Oracle,
    attacker: Attacker,
    members: BoolArray,
    target: BoolArray,
    side: FloatArray | float,
    *,
    accounts: int = 1,
    told: FloatArray | None = None,
) -> Outcome:
    """In each file, raise one target row above all others; each shown file restores more of the others.

    The initial order of all other rows is the reverse of the attacker's own model. If `told` does not contain
    the probabilities that files are shown, every third file raises a row with a known label to estimate them.
    """
    rng, turn, middle = attacker.rng, attacker.rng.random(attacker.rows), float(np.median(attacker.own))
    total = accounts * attacker.files
    sure = [np.flatnonzero(target & chosen) for chosen in (attacker.belief < 0.03, attacker.belief > 0.97)]
    aimed = attacker.hard(target, total if told is not None else total - total // 3)
    climbed, best = np.zeros(accounts, np.int64), np.full(accounts, -1)
    counts = np.ones((2, 2)) if told is None else told
    heard = np.full(aimed.size, -1)
    waiting = iter(range(aimed.size))
    for number in range(total):
        account, turn_of = number % accounts, number // accounts
        left = _PACE ** climbed[account]
        label = turn_of // 3 % 2
        is_known = told is None and turn_of % 3 == 2 and sure[label].size > 0
        place = -1 if is_known or left < _LEAST else next(waiting, -1)
        if left < _LEAST or not (is_known or place >= 0):
            continue
        row = rng.choice(sure[label]) if is_known else aimed[place]
        file = np.where(turn < 1 - left, attacker.own, 2 * middle - attacker.own)
        file[members] = (attacker.own + side * _OUT)[members]
        file[row] = middle + 3 * _OUT
        units = oracle.send(file, account).score_units
        is_news = units is not None and units > best[account]
        if units is not None and is_news:
            climbed[account], best[account] = climbed[account] + 1, units
        if is_known:
            counts[label, int(is_news)] += 1
        else:
            heard[place] = is_news
    chances = counts / counts.sum(axis=1, keepdims=True)
    odds = logit(attacker.belief[aimed])
    odds[heard >= 0] += np.log(chances[1] / chances[0])[heard[heard >= 0]]
    return Outcome.of(attacker, aimed, odds)
