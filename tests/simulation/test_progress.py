"""Accuracy of honest models, and counts of visible improvements."""

import numpy as np
import pytest

from grader.feedback import Rule, ScoredFile
from grader.feedback.basis import Basis
from grader.simulation import Honest, drawn
from grader.simulation.honest_teams import Entry, rank_correlation, seen, teams
from grader.visibility import Feedback


def test_true_score_of_a_model_is_the_mean_score_of_such_models():
    competition = drawn(3, 20_000)
    honest, rng = Honest(competition, 3), np.random.default_rng(1)
    for variance in (0.1, 0.5, 2.0):
        scores = [
            competition.score(honest.predictions(honest.model(rng, variance)), with_basis=False).file.score
            for _ in range(12)
        ]
        assert abs(np.mean(scores) - honest.truth(variance)) < 0.02
    assert honest.truth(0.1) > honest.truth(0.5) > honest.truth(2.0)


def test_beliefs_of_the_attackers_model_are_calibrated():
    competition = drawn(3, 20_000)
    honest = Honest(competition, 3)
    belief = honest.belief(honest.model(np.random.default_rng(1), 0.15))
    for low, high in ((0.0, 0.2), (0.2, 0.6), (0.6, 1.0)):
        within = (belief >= low) & (belief < high)
        assert abs(belief[within].mean() - competition.labels[within].mean()) < 0.06


def entry(truth: float, score: float, place: int) -> Entry:
    sketch = np.zeros(512, np.float32)
    sketch[place] = 0.01
    return Entry(truth, ScoredFile(score, Basis(0.0, sketch)))


def test_improvements_clear_improvements_and_false_ones_are_counted():
    team = [entry(0.80, 0.80, 0), entry(0.81, 0.82, 1), entry(0.79, 0.83, 2), entry(0.90, 0.85, 3)]
    other = [entry(0.70, 0.60, 0), entry(0.71, 0.59, 1)]
    found = seen([team, other], Rule(Feedback.OPEN, 500))
    assert (found.improvements, found.seen) == (3, 2)
    assert (found.clear, found.clear_seen) == (1, 1)
    assert (found.others, found.false) == (1, 1)
    assert found.correlation == pytest.approx(1)
    blind = seen([team, other], Rule(Feedback.BLIND, 500))
    assert (blind.seen, blind.false, blind.correlation) == (0, 0, 0)


def test_rank_correlation_is_spearmans():
    assert rank_correlation([1, 2, 3], [10, 20, 40]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 2], [5, 6, 7]) == pytest.approx(0.8660254)
    assert rank_correlation([1, 1, 1], [5, 6, 7]) == 0


def test_ladder_shows_most_clear_improvements_and_a_nearly_correct_leaderboard():
    improvements = shown = 0
    for seed in range(2):
        competition = drawn(seed)
        entries = teams(competition, Honest(competition, seed), count=15, seed=seed)
        found = seen(entries, Rule(Feedback.LADDER, 500))
        improvements, shown = improvements + found.clear, shown + found.clear_seen
        assert found.correlation > 0.7
    assert shown >= improvements / 2
