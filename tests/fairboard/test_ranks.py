"""Pair counts from dense ranks: equality with `count_pairs` on every split."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairboard import count_pairs, count_ranks, dense_ranks, prepare

predictions = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(0, 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, 1.0, np.nextafter(1.0, 2.0), -1.7e308, 1.7e308]),
)
# A row is in one of the two splits, or ignored if the value is 0.
rows = st.tuples(st.integers(0, 2), st.booleans(), predictions, st.booleans(), st.booleans())


@given(st.lists(rows, min_size=1, max_size=80))
def test_counts_of_every_split_equal_those_of_its_predictions(table):
    usage, labels, y_score, cat, dog = map(np.array, zip(*table, strict=True))
    ranks = dense_ranks(y_score)
    for code in (0, 1, 2):
        places = np.flatnonzero(usage == code)
        split = prepare(labels[places], {"cat": cat[places], "dog": dog[places]}, in_score=["dog"])
        assert count_ranks(split, ranks[places]) == count_pairs(split, y_score[places])
        with pytest.raises(ValueError, match="`ranks` must have"):
            count_ranks(split, np.append(ranks[places], 0))


@given(st.one_of(st.lists(predictions, max_size=60), st.lists(st.integers(-9, 9).map(lambda n: n / 10))))
@example([1.0, 1.0 + 2.0**-52, 2.0])
@example([-1.7e308, 0.0, 1.7e308])
@example([0.0, 5e-324, 1e-323, 2e-323])
@example([0.1, 0.2, 0.3, math.nextafter(0.1, 1)] * 700)
def test_ranks_are_those_of_the_distinct_values(values):
    distinct = sorted(set(values))  # -0.0 also equals 0.0 in a set.
    assert dense_ranks(values).tolist() == [distinct.index(value) for value in values]


@pytest.mark.parametrize(
    ("distinct", "kind"), [(256, np.uint8), (257, np.uint16), (65_536, np.uint16), (65_537, np.uint32)]
)
def test_ranks_have_the_smallest_sufficient_type(distinct, kind):
    ranks = dense_ranks(np.arange(distinct)[::-1])
    assert ranks.dtype == kind
    assert (ranks[0], ranks[-1]) == (distinct - 1, 0)
    with pytest.raises(ValueError, match="`predictions` must be finite"):
        dense_ranks([0.0, np.nan])
