"""Pair counts, including ties, compared with brute-force counts."""

import json

import numpy as np
import pytest

from fairboard import PairCounts, PreparedSplit, count_pairs, prepare


def brute_force_wins(winners, losers):
    return int(2 * np.sum(winners[:, None] > losers[None, :]) + np.sum(winners[:, None] == losers[None, :]))


def assert_counts_are_those_of_brute_force(labels, mentions, y_score):
    counts = count_pairs(prepare(labels, mentions), y_score)
    assert PairCounts.from_dict(json.loads(json.dumps(counts.as_dict()))) == counts
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


def random_scores(rng, rows):
    """Generate scores from one of several distributions, most of which have many ties."""
    levels = int(rng.integers(1, 12))
    kind = rng.integers(0, 7)
    if kind == 0:
        return rng.integers(-levels, levels + 1, rows).astype(float)
    if kind == 1:
        return rng.random(rows)
    if kind == 2:
        return rng.normal(size=rows) * 10.0 ** rng.integers(-300, 300, rows)
    # Neighbors that differ only in their last bits, and a range that is too wide to pack.
    if kind == 3:
        neighbours = 1.0 + rng.integers(0, levels, rows) * 2.0**-52
        return np.where(rng.random(rows) < 0.2, rng.choice([0.0, -1e300]), neighbours)
    if kind == 4:
        return 5e-324 * rng.integers(0, levels, rows)
    if kind == 5:
        return np.where(rng.random(rows) < 0.5, 0.0, -0.0)
    return np.round(rng.random(rows), 1)


@pytest.mark.parametrize("seed", range(20))
def test_every_count_equals_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        rows = int(rng.integers(1, 40))
        labels = rng.random(rows) < rng.random()
        mentions = {
            f"identity {k}": rng.random(rows) < rng.choice([0, 0.1, 0.5, 1])
            for k in range(rng.integers(0, 6))
        }
        assert_counts_are_those_of_brute_force(labels, mentions, random_scores(rng, rows))


def test_predictions_that_differ_in_their_last_bits_are_ordered():
    rng = np.random.default_rng(0)
    rows = 100_000
    labels = rng.random(rows) < 0.1
    # All but a few predictions share their leading bits, like those of a saturated model.
    y_score = 1.0 - rng.integers(0, 4000, rows) * 2.0**-53
    y_score[:10] = 1e-300
    _, dense_ranks = np.unique(y_score, return_inverse=True)
    split = prepare(labels, {"cat": rng.random(rows) < 0.2})
    assert count_pairs(split, y_score) == count_pairs(split, dense_ranks)


def test_counts_are_equal_beyond_the_limits_of_narrow_keys():
    rng = np.random.default_rng(0)
    rows, identities = 2**20, 2**9
    labels = rng.random(rows) < 0.1
    members = tuple(np.flatnonzero(rng.random(500) < 0.5) * 2000 for _ in range(identities))
    names = tuple(f"identity {k}" for k in range(identities))
    many = PreparedSplit(labels, names, (True,) * identities, members)
    assert many.layout.keys.dtype == np.uint64
    few = PreparedSplit(labels, names[-3:], (True,) * 3, members[-3:])
    assert few.layout.keys.dtype == np.uint32
    y_score = np.round(rng.random(rows), 2)
    assert count_pairs(many, y_score).identities[-3:] == count_pairs(few, y_score).identities
