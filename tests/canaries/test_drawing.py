"""Canary rows are drawn from the Ignored rows first, and half of their coins are 1."""

from random import Random, SystemRandom

import numpy as np
import pytest

from grader.canaries import CannotDraw, draw

LABELS = np.where(np.arange(400) % 10 == 0, 0.8, 0.1)
USAGE = np.where(np.arange(400) < 50, 0, 1 + np.arange(400) % 2).astype(np.int8)


def test_rows_are_taken_from_the_ignored_ones_and_half_of_the_coins_are_one():
    drawn = draw(LABELS, USAGE, count=40, threshold=0.5, from_scored=False, random=SystemRandom())
    assert len(set(drawn.places.tolist())) == 40
    assert (USAGE[drawn.places] == 0).all()
    assert np.count_nonzero(drawn.coins) == 20
    assert set(drawn.labels[drawn.coins].tolist()) == {0.8}
    assert set(drawn.labels[~drawn.coins].tolist()) == {0.1}


def test_scored_rows_are_taken_only_where_organizers_agree_and_ignored_ones_do_not_suffice():
    with pytest.raises(CannotDraw, match="50 rows have the Usage Ignored: 10 fewer"):
        draw(LABELS, USAGE, count=60, threshold=0.5, from_scored=False, random=Random(1))
    drawn = draw(LABELS, USAGE, count=60, threshold=0.5, from_scored=True, random=Random(1))
    assert np.count_nonzero(USAGE[drawn.places] == 0) == 50


@pytest.mark.parametrize("count", [0, 18, 41, 102])
def test_a_number_that_is_not_useful_is_refused(count: int):
    with pytest.raises(CannotDraw, match="Ask for 20 to 100 canary rows, an even number"):
        draw(LABELS, USAGE, count=count, threshold=0.5, from_scored=True, random=Random(1))


def test_a_tiny_solution_or_one_of_a_single_class_is_refused():
    with pytest.raises(CannotDraw, match="too few rows"):
        draw(LABELS[:30], USAGE[50:80], count=20, threshold=0.5, from_scored=True, random=Random(1))
    with pytest.raises(CannotDraw, match="one class only"):
        draw(np.zeros(400), USAGE, count=20, threshold=0.5, from_scored=True, random=Random(1))


def test_coins_and_rows_are_independent_of_the_true_labels():
    """Over many draws a row's coin agrees with its true class in one half of all cases."""
    random, agreed, total = Random(7), 0, 0
    for _ in range(300):
        drawn = draw(LABELS, USAGE, count=40, threshold=0.5, from_scored=False, random=random)
        agreed += int(np.count_nonzero(drawn.coins == (LABELS[drawn.places] >= 0.5)))
        total += 40
    assert abs(agreed / total - 0.5) < 0.03  # six standard deviations
