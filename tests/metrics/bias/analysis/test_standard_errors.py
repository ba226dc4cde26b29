"""Standard errors from places: equality with the sums of squared influences."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.metrics import MetricSettings, Weights, dense_ranks, prepare, report
from grader.metrics.bias.analysis.influence import Sets, influences
from grader.metrics.bias.analysis.standard_errors import ClassMentions, standard_errors
from grader.metrics.bias.pair_counting import count_with_midranks

SETTINGS = [
    MetricSettings(),
    MetricSettings(power=0, weights=Weights(0.4, 0.3, 0.2, 0.1), undefined="skip"),
    MetricSettings(power=-math.inf, undefined="skip"),
    MetricSettings(power=1, weights=Weights(1, 0, 0, 0)),
]


def by_row(split: Any, scores: Any, settings: MetricSettings) -> dict[str, float]:
    """Return the errors that are not 0 from the influence of every row."""
    sets, ranks = Sets(split), dense_ranks(scores)
    values = report(count_with_midranks(split, ranks)[0], settings)
    found = influences(sets, ranks, values, settings)
    errors = {name: math.sqrt(each @ each) for name, each in found.terms.items() if each is not None}
    return {name: error for name, error in errors.items() if error > 1e-12}


def by_place(split: Any, scores: Any, settings: MetricSettings, rows: Any = None) -> dict[str, float]:
    ranks = dense_ranks(scores)
    counts, midranks = count_with_midranks(split, ranks if rows is None else ranks[rows])
    return standard_errors(ClassMentions.both(split), midranks, report(counts, settings), settings)


@given(
    seed=st.integers(0, 10**6),
    rows=st.sampled_from([0, 5, 30, 200]),
    identities=st.integers(0, 7),
    share=st.sampled_from([0.02, 0.3, 0.95]),
    levels=st.sampled_from([1, 2, 5, 10**6]),
    settings=st.sampled_from(SETTINGS),
)
def test_errors_equal_those_of_the_influences_of_every_row(
    seed: int, rows: int, identities: int, share: float, levels: int, settings: MetricSettings
):
    dice = np.random.default_rng(seed)
    labels = dice.random(rows) < dice.choice([0.1, 0.5, 0.8])
    mentions = {f"g{number}": dice.random(rows) < share for number in range(identities)}
    scores = np.minimum(dice.integers(0, levels, rows) + labels * (levels // 2), levels)
    split = prepare(labels, mentions, in_score=[name for name in mentions if dice.random() < 0.8])
    found = by_place(split, scores, settings)
    expected = by_row(split, scores, settings)
    assert found.keys() == expected.keys()
    # Two significant digits; an error of exactly 0.125 may be rounded either way.
    assert all(found[name] == pytest.approx(expected[name], rel=0.0501) for name in found)


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("digits", [1, 17])
def test_errors_have_the_same_two_digits_for_a_large_split_among_other_rows(
    settings: MetricSettings, digits: int
):
    dice = np.random.default_rng(1)
    rows = np.flatnonzero(dice.random(6000) < 0.5)
    labels = dice.random(6000) < 0.2
    scores = np.round(labels + dice.normal(size=6000), digits)
    mentions = {f"g{number}": dice.random(rows.size) < 0.1 for number in range(5)}
    split = prepare(labels[rows], mentions)
    expected = by_row(split, scores[rows], settings)
    found = by_place(split, scores, settings, rows)
    assert found == {name: float(f"{error:.2g}") for name, error in expected.items()}
    assert len(found) > 3


@given(seed=st.integers(0, 10**6), rows=st.integers(20, 400))
def test_submission_without_variance_has_no_errors(seed: int, rows: int):
    dice = np.random.default_rng(seed)
    labels = dice.random(rows) < 0.4
    split = prepare(labels, {f"g{number}": dice.random(rows) < 0.3 for number in range(9)})
    for scores in (np.zeros(rows), labels, -1.0 * labels, labels + dice.random(rows) / 2):
        assert by_place(split, scores, MetricSettings()) == {}
