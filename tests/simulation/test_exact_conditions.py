"""Ladder conditions: no single label determines whether a file's score is displayed."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from grader.feedback import Basis, Ladder, Rule, ScoredFile, show
from grader.metrics import MetricSettings
from grader.simulation import Competition, Honest, attacker_of, drawn
from grader.simulation.competitions import FloatArray
from grader.visibility import Feedback

POWERS = (-math.inf, -5.0, -1.0, 0.0, 0.5, 1.0, 5.0, math.inf)
STEP, NEEDED = 500, 2.3
OUT = 100.0
# The maximum difference between the two labels' probabilities that a score is displayed; 1 is certainty.
APART = 0.93


def states(competition: Competition) -> Iterator[tuple[str, FloatArray, FloatArray, int]]:
    """Yield triples of a best file, a better file, and the moved row. Each tests a condition on a label."""
    rule = Rule(Feedback.LADDER, STEP)
    attacker = attacker_of(competition, Honest(competition, 1), rule, files=60, seed=1)
    names = sorted(attacker.mentions, key=lambda name: int(attacker.mentions[name].sum()))
    turn, middle = np.random.default_rng(1).random(competition.rows), float(np.median(attacker.own))
    alone = np.sum(list(attacker.mentions.values()), axis=0) == 1
    plain = int(np.flatnonzero(attacker.plain & competition.public)[7])

    def climbed(share: float) -> FloatArray:
        return np.where(turn < share, attacker.own, 2 * middle - attacker.own)

    for low, high in ((0.3, 0.6), (0.9, 0.93)):
        for name, other in ((names[0], names[1]), (names[4], names[8])):
            one, two = attacker.mentions[name], attacker.mentions[name] | attacker.mentions[other]
            own_rows = np.flatnonzero(one & alone & competition.public)
            row = int(own_rows[5])
            for end, rows in ((-OUT, one), (OUT, one), (-OUT, two), (OUT, two)):
                best, better = climbed(low), climbed(high)
                best[rows] = better[rows] = attacker.own[rows] + end
                better[row] = -3 * end
                yield f"{name}: {np.count_nonzero(rows)} rows at {end}", best, better, row
                if rows is one:
                    beyond = better.copy()
                    beyond[row], beyond[plain] = best[row], 3 * end
                    yield f"{name}: a plain row beyond {end}", best, beyond, plain
                    known = own_rows[competition.labels[own_rows] == (end < 0)][:2]
                    better = better.copy()
                    better[known] = -2 * end
                    yield f"{name}: two known rows moved from {end}", best, better, row
            best, better = climbed(low), climbed(high)
            better[one] = np.where(competition.labels[one], OUT, -OUT)
            better[row] = 3 * OUT
            yield f"{name}: AUCs of 1", best, better, row
            tied = climbed(high)
            tied[two] = 0.0
            tied[row] = 3 * OUT
            yield f"{name}: ties", climbed(low), tied, row


def threshold(better: ScoredFile, best: ScoredFile) -> tuple[float, float]:
    """Return the difference between two files, and its standard error, after one displayed file."""
    ladder = Ladder(STEP)
    assert ladder.show(best) is not None
    error = ladder._error(better, NEEDED)
    assert error is not None
    return better.score - best.score, error


def apart(differences: list[tuple[float, float]]) -> float:
    """Return the largest difference between the two probabilities for any value added to the difference."""
    (one, error), (other, other_error) = differences
    added = np.linspace(-1, 1, 2001)
    shown = [
        np.vectorize(math.erfc)((NEEDED - (added + each) / scale) / math.sqrt(2)) / 2
        for each, scale in ((0, error), (other - one, other_error))
    ]
    return float(np.abs(shown[0] - shown[1]).max())


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("rows", [20_000, pytest.param(4000, marks=pytest.mark.long)])
def test_no_label_determines_with_certainty_whether_a_file_is_shown(power: float, rows: int):
    settings = MetricSettings(power=power, undefined="skip")
    competition = replace(drawn(101, rows), settings=settings)
    for condition, best, better, row in states(competition):
        found = []
        for label in (False, True):
            labels = competition.labels.copy()
            labels[row] = label
            one = replace(competition, labels=labels)
            found.append(threshold(one.score(better).file, one.score(best).file))
        assert apart(found) < APART, (condition, found)


def test_equal_files_have_the_least_error_and_the_same_noise_under_any_solution():
    """Equal noise after a rescoring prevents averaging."""
    competition = drawn(3, 1500)
    file = Honest(competition, 3).predictions(Honest(competition, 3).model(np.random.default_rng(1), 0.3))
    one = competition.score(file).file
    other = replace(competition, labels=~competition.labels, public=~competition.public).score(file).file
    assert one.basis is not None
    assert other.basis is not None
    assert (one.basis.noise, one.basis.other_noise) == (other.basis.noise, other.basis.other_noise)
    difference, error = threshold(ScoredFile(one.score, Basis(0.0, *_of(one))), one)
    assert difference == 0
    assert error >= STEP / 100_000 / NEEDED
    assert show([one, one], Rule(Feedback.LADDER, STEP))[1] is None


def _of(file: ScoredFile) -> tuple[object, object, float]:
    assert file.basis is not None
    return file.basis.sketch, file.basis.changes, file.basis.leap
