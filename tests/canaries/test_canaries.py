"""Canary rows: preference for Ignored rows, and exact probabilities."""

import itertools
import math
from random import Random, SystemRandom

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from grader.canaries import CannotDraw, draw, follow, is_named, least_chance

LABELS = np.where(np.arange(400) % 10 == 0, 0.8, 0.1)
USAGE = np.where(np.arange(400) < 50, 0, 1 + np.arange(400) % 2).astype(np.int8)


def test_rows_are_drawn_from_the_ignored_ones_and_half_of_the_coins_are_one():
    drawn = draw(LABELS, USAGE, count=40, threshold=0.5, from_scored=False, random=SystemRandom())
    assert len(set(drawn.places.tolist())) == 40
    assert (USAGE[drawn.places] == 0).all()
    assert np.count_nonzero(drawn.coins) == 20
    assert set(drawn.labels[drawn.coins].tolist()) == {0.8}
    assert set(drawn.labels[~drawn.coins].tolist()) == {0.1}


def test_scored_rows_are_drawn_only_on_request_and_after_all_ignored_ones():
    with pytest.raises(CannotDraw, match="50 rows have the Usage Ignored, 10 fewer"):
        draw(LABELS, USAGE, count=60, threshold=0.5, from_scored=False, random=Random(1))
    drawn = draw(LABELS, USAGE, count=60, threshold=0.5, from_scored=True, random=Random(1))
    assert np.count_nonzero(USAGE[drawn.places] == 0) == 50


@pytest.mark.parametrize("count", [0, 18, 41, 102])
def test_invalid_number_of_rows_is_rejected(count: int):
    with pytest.raises(CannotDraw, match="must be an even number from 20 to 100"):
        draw(LABELS, USAGE, count=count, threshold=0.5, from_scored=True, random=Random(1))


def test_tiny_or_single_class_solution_is_rejected():
    with pytest.raises(CannotDraw, match="too few rows"):
        draw(LABELS[:30], USAGE[50:80], count=20, threshold=0.5, from_scored=True, random=Random(1))
    with pytest.raises(CannotDraw, match="belong to one class"):
        draw(np.zeros(400), USAGE, count=20, threshold=0.5, from_scored=True, random=Random(1))


def test_coins_and_rows_are_independent_of_the_true_labels():
    """Assert that coins agree with the true classes in half of the cases over many draws."""
    random, agreed, total = Random(7), 0, 0
    for _ in range(300):
        drawn = draw(LABELS, USAGE, count=40, threshold=0.5, from_scored=False, random=random)
        agreed += int(np.count_nonzero(drawn.coins == (LABELS[drawn.places] >= 0.5)))
        total += 40
    assert abs(agreed / total - 0.5) < 0.03  # Six standard deviations.


def _brute_force(predictions: list[float], coins: list[bool]) -> tuple[float, float]:
    """Count pairs one by one for the drawn coins and for all other possible draws."""

    def as_drawn(ones: set[int]) -> float:
        zeros = [each for each in range(len(predictions)) if each not in ones]
        return sum(
            (predictions[one] > predictions[zero]) + 0.5 * (predictions[one] == predictions[zero])
            for one in ones
            for zero in zeros
        )

    seen = as_drawn({place for place, coin in enumerate(coins) if coin})
    drawn = [as_drawn(set(each)) for each in itertools.combinations(range(len(coins)), sum(coins))]
    return seen, sum(each >= seen for each in drawn) / len(drawn)


@given(
    st.lists(st.tuples(st.integers(0, 4), st.booleans()), min_size=2, max_size=9).filter(
        lambda rows: 0 < sum(coin for _, coin in rows) < len(rows)
    )
)
@settings(deadline=None)
def test_chance_with_ties_equals_an_enumeration_of_all_draws(rows: list[tuple[int, bool]]):
    predictions, coins = [float(value) for value, _ in rows], [coin for _, coin in rows]
    found = follow(predictions, np.array(coins))
    seen, chance = _brute_force(predictions, coins)
    assert found.as_drawn == seen
    assert found.pairs == sum(coins) * (len(coins) - sum(coins))
    assert math.isclose(found.chance, chance, rel_tol=1e-12)


def test_chance_without_ties_equals_that_of_scipys_exact_test():
    random = np.random.default_rng(3)
    predictions, coins = random.random(40), np.arange(40) % 2 == 0
    found = follow(predictions, coins)
    expected = stats.mannwhitneyu(
        predictions[coins], predictions[~coins], alternative="greater", method="exact"
    )
    assert found.as_drawn == expected.statistic
    assert math.isclose(found.chance, expected.pvalue, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("rows", "one_in"), [(20, 184_756), (40, 137_846_528_820), (100, math.comb(100, 50))]
)
def test_file_of_the_leaked_labels_has_the_smallest_possible_chance(rows: int, one_in: int):
    coins = np.arange(rows) % 2 == 0
    leaked = follow(np.linspace(0, 1, rows) / 2 + coins, coins)  # These predictions have no ties.
    assert math.isclose(leaked.chance, 1 / one_in, rel_tol=1e-12)
    assert math.isclose(least_chance(rows), 1 / one_in)
    assert math.isclose(follow(coins.astype(float), coins).chance, 1 / one_in, rel_tol=1e-12)


def test_constant_file_follows_no_coins():
    assert follow(np.zeros(40), np.arange(40) % 2 == 0).chance == 1


def test_inverted_file_follows_no_coins():
    coins = np.arange(40) % 2 == 0
    assert math.isclose(follow(1.0 - coins, coins).chance, 1)


def test_increasing_transform_of_a_file_has_the_same_chance():
    random = np.random.default_rng(4)
    predictions, coins = random.normal(size=40), np.arange(40) % 2 == 0
    assert follow(predictions, coins) == follow(np.exp(predictions), coins)


@given(st.integers(0, 2**32))
@settings(deadline=None, max_examples=20)
def test_chance_of_half_a_percent_occurs_in_at_most_half_a_percent_of_honest_files(seed: int):
    random = Random(seed)
    values = [random.choice([0.1, 0.2, 0.7, random.random()]) for _ in range(20)]
    coins = [True, False] * 10
    chances = []
    for _ in range(400):
        random.shuffle(coins)
        chances.append(follow(values, np.array(coins)).chance)
    # With 400 draws, more than 12 values at or below 0.5 % occur about once in a million runs.
    assert sum(chance <= 0.005 for chance in chances) <= 12


def _honest_files(random: np.random.Generator, true: np.ndarray, count: int) -> list[np.ndarray]:
    """Return files of many kinds: models, rounded values, binary rules, ranks and constants."""
    files = []
    for number in range(count):
        scores = random.normal(size=true.size) + random.uniform(0, 3) * true
        kinds = (
            scores,
            np.round(scores),
            scores > 1,
            1 / (1 + np.exp(-scores)),
            np.zeros(true.size),
            -scores,
        )
        files.append(np.asarray(kinds[number % len(kinds)], np.float64))
    return files


@pytest.mark.parametrize("rows", [20, 40, 100])
def test_none_of_1000_honest_files_is_named(rows: int):
    random = np.random.default_rng(rows)
    true, coins = random.random(rows) < 0.5, random.permutation(np.arange(rows) % 2 == 0)
    found = [follow(file, coins) for file in _honest_files(random, true, 1000)]
    assert not any(is_named(each.chance, 1000) for each in found)


@pytest.mark.parametrize(("rows", "files"), [(20, 184), (40, 137_846_528)])
def test_leaked_file_is_named_among_the_documented_number_of_files(rows: int, files: int):
    coins = np.arange(rows) % 2 == 0
    leaked = follow(coins, coins).chance
    assert is_named(leaked, files)
    assert not is_named(leaked, files + 1)


@pytest.mark.parametrize("share", [0.9, 0.7, 0.6])
def test_blend_with_the_leak_or_partial_use_of_it_is_named(share: float):
    """Use the leak on a random part of 40 rows and a separate model on the others."""
    random = np.random.default_rng(5)
    coins = random.permutation(np.arange(40) % 2 == 0)
    model = random.random(40)
    used = random.permutation(40) < 40 * share
    named = follow(np.where(used, coins + 0.0, model), coins)
    assert is_named(named.chance, 20)
    assert is_named(follow(0.5 * coins + 0.5 * model, coins).chance, 1000)
