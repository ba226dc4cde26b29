"""Counting pairs against brute force: equality of integers, ties included."""

import numpy as np
import pytest

from grader.metrics import PairCounts, count_pairs, prepare


def brute_force_wins(winners: np.ndarray, losers: np.ndarray) -> int:
    return int(2 * np.sum(winners[:, None] > losers[None, :]) + np.sum(winners[:, None] == losers[None, :]))


def assert_counts_are_those_of_brute_force(labels, mentions, y_score) -> None:
    counts = count_pairs(prepare(labels, mentions), y_score)
    truth = np.asarray(labels) >= 0.5
    assert counts.overall_wins == brute_force_wins(y_score[truth], y_score[~truth])
    for identity in counts.identities:
        inside = np.asarray(mentions[identity.name]) >= 0.5
        groups = [y_score[side & kind] for side in (inside, ~inside) for kind in (truth, ~truth)]
        positive, negative, background_positive, background_negative = groups
        assert (identity.positives, identity.negatives) == (positive.size, negative.size)
        assert identity.subgroup_wins == brute_force_wins(positive, negative)
        assert identity.bpsn_wins == brute_force_wins(background_positive, negative)
        assert identity.bnsp_wins == brute_force_wins(positive, background_negative)
        assert identity.positive_background_wins == brute_force_wins(background_positive, positive)
        assert identity.negative_background_wins == brute_force_wins(background_negative, negative)


def random_scores(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Draw scores from one of many kinds of distributions, most of them heavy with ties."""
    levels = int(rng.integers(1, 12))
    kind = rng.integers(0, 7)
    if kind == 0:
        return rng.integers(-levels, levels + 1, rows).astype(float)
    if kind == 1:
        return rng.random(rows)
    if kind == 2:
        return rng.normal(size=rows) * 10.0 ** rng.integers(-300, 300, rows)
    if kind == 3:  # neighbours that differ in their last bits only
        return 1.0 + rng.integers(0, levels, rows) * 2.0**-52 - (rng.random(rows) < 0.1) * 1e-300
    if kind == 4:
        return 5e-324 * rng.integers(0, levels, rows)
    if kind == 5:
        return np.where(rng.random(rows) < 0.5, 0.0, -0.0)
    return np.round(rng.random(rows), 1)


@pytest.mark.parametrize("seed", range(20))
def test_every_count_is_the_integer_that_brute_force_finds(seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        rows = int(rng.integers(1, 40))
        labels = rng.random(rows) < rng.random()
        mentions = {
            f"identity {k}": rng.random(rows) < rng.choice([0, 0.1, 0.5, 1])
            for k in range(rng.integers(0, 6))
        }
        assert_counts_are_those_of_brute_force(labels, mentions, random_scores(rng, rows))


def test_the_counts_survive_json_text():
    import json

    counts = count_pairs(prepare([1, 0, 1], {"a": [1, 1, 0]}), [0.5, 0.2, 0.2])
    assert PairCounts.from_dict(json.loads(json.dumps(counts.as_dict()))) == counts
