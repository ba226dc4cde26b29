"""Row and label effects: comparison with influences, bounds for changed labels."""

import math
from dataclasses import replace

import numpy as np
import pytest

from grader.metrics import MetricSettings, count_ranks, dense_ranks, report
from grader.metrics.analysis.influence import influences
from grader.metrics.analysis.label_effects import LabelEffects, label_effects
from grader.simulation import Competition, Honest, drawn
from grader.simulation.competitions import FloatArray

POWERS = (-math.inf, -1e9, -20.0, -5.0, -1.0, -0.1, 0.0, 0.5, 1.0, 5.0, 1e9, math.inf)
ROWS = 1500


def competition_of(power: float, seed: int = 5) -> Competition:
    return replace(drawn(seed, ROWS), settings=MetricSettings(power=power, undefined="skip"))


def effects_of(competition: Competition, file: FloatArray) -> tuple[LabelEffects, FloatArray | None]:
    """Return the effects of a file on the public rows, and its influences."""
    sets, ranks = competition._sets, dense_ranks(file)[competition.public]
    found = report(count_ranks(sets.ranked, ranks), competition.settings)
    both = (function(sets, ranks, found, competition.settings) for function in (label_effects, influences))
    effects, influence = both
    return effects, influence.terms["score"]


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("decimals", [1, 8])
def test_effects_equal_the_influences_of_the_analysis(power: float, decimals: int):
    competition = competition_of(power)
    honest, rng = Honest(competition, 5), np.random.default_rng(1)
    file = np.round(honest.predictions(honest.model(rng, 0.3)), decimals)
    effects, influence = effects_of(competition, file)
    assert influence is not None
    tolerance = 1e-6 if 1e3 < abs(power) < math.inf else 1e-14
    assert np.abs(effects.influence - influence).max() <= tolerance


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("kind", ["honest", "zero", "two zeros", "one", "all ties", "reversed"])
def test_changed_label_moves_the_score_by_at_most_twice_its_effect(power: float, kind: str):
    """Check also that every file's effects are finite for every power."""
    competition = competition_of(power)
    honest, rng = Honest(competition, 5), np.random.default_rng(1)
    own = honest.predictions(honest.model(rng, 0.3))
    small, next_one = sorted(competition.mentions.values(), key=np.count_nonzero)[:2]
    file = {
        "honest": own,
        "zero": np.where(small, own - 100, own),
        "two zeros": np.where(small | next_one, own - 100, own),
        "one": np.where(small, np.where(competition.labels, 100.0, -100.0), own),
        "all ties": np.zeros(ROWS),
        "reversed": -own,
    }[kind]
    rows = np.flatnonzero(small & competition.public)[:4].tolist()
    rows += np.flatnonzero(~small & competition.public)[:4].tolist()
    for row in rows:
        for place in (200.0, -200.0):
            moved = file.copy()
            moved[row] = place
            scores = []
            limits = []
            for label in (False, True):
                labels = competition.labels.copy()
                labels[row] = label
                one = replace(competition, labels=labels)
                scores.append(one.score(moved, with_basis=False).file.score)
                effects, _ = effects_of(one, moved)
                assert np.isfinite(effects.influence).all()
                assert np.isfinite(effects.change).all()
                number = np.flatnonzero(np.flatnonzero(competition.public) == row)[0]
                limits.append(abs(effects.change[number]) + effects.leap)
            assert abs(scores[1] - scores[0]) <= 2 * min(limits) + 1e-3, (row, place)
