"""Pair counts of data that arrives in chunks: equality with `count_pairs` on all rows at once."""

import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.metrics import count_chunks, count_pairs, prepare

predictions = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, 1.0, np.nextafter(1.0, 2.0), -1.7e308, 1.7e308]),
)
rows = st.tuples(st.booleans(), predictions, *[st.sampled_from([0.0, 1.0, np.nan])] * 9)


def chunks_of(labels, y_score, identities, cuts):
    parts = [np.split(np.asarray(column), cuts) for column in (labels, y_score, *identities.values())]
    for part in zip(*parts, strict=True):
        yield part[0], part[1], dict(zip(identities, part[2:], strict=True))


@given(st.lists(rows, min_size=1, max_size=60), st.lists(st.integers(0, 60), max_size=4).map(sorted))
def test_chunks_of_any_size_have_the_counts_of_all_rows(table, cuts):
    labels, y_score, *columns = map(np.array, zip(*table, strict=True))
    identities = {f"i{place}": column for place, column in enumerate(columns)}
    whole = count_pairs(prepare(labels, identities, in_score=["i1"]), y_score)
    assert count_chunks(chunks_of(labels, y_score, identities, cuts), in_score=["i1"]) == whole


@pytest.mark.parametrize(("levels", "dtype"), [(2, "f8"), (1000, "f4"), (2**40, "f8"), (2**40, "f4")])
def test_many_rows_in_float32_or_float64_have_the_counts_of_all_rows(levels, dtype):
    rng = np.random.default_rng(levels)
    y_score = (np.floor(rng.random(600_000) * levels) / levels).astype(dtype)
    labels = rng.random(y_score.size) < 0.5  # more than one block in each class
    identities = {str(number): rng.random(y_score.size) < 0.05 * number for number in range(12)}
    chunks = chunks_of(labels, y_score, identities, [100_000, 450_000])
    assert count_chunks(chunks) == count_pairs(prepare(labels, identities), y_score)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (([1], [np.nan], {"cat": [1]}), "starts at row 2: `predictions` must be finite"),
        (([np.inf], [0.5], {"cat": [1]}), "starts at row 2: `labels` must be finite"),
        (([1], [0.5, 0.4], {"cat": [1]}), "starts at row 2: `predictions` must have 1 values"),
        (([1], [0.5], {"dog": [1]}), "starts at row 2: expected the identities"),
        (([1], [0.5, np.nan], {"cat": [np.inf]}), r"row 2: `identities\['cat'\]` must.*\n`predictions` must"),
    ],
)
def test_an_invalid_chunk_is_named_by_its_first_row(second, message):
    with pytest.raises(ValueError, match=message):
        count_chunks([([1, 0], [0.4, 0.5], {"cat": [1, 0]}), second])


def test_first_chunk_without_identities_fixes_that_there_are_none():
    with pytest.raises(ValueError, match=r"starts at row 1: expected the identities \[\]"):
        count_chunks([([1], [0.4], {}), ([1], [0.5], {"cat": [1]})])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_each_chunk_is_released_before_the_next_is_requested(dtype):
    def chunks():
        for _ in range(3):
            y_score = np.arange(2, dtype=dtype)
            is_alive = weakref.ref(y_score)
            yield [1, 0], y_score, {"cat": [1, 0]}
            del y_score
            assert is_alive() is None

    assert count_chunks(chunks()).rows == 6


def test_no_chunks_and_unknown_identities_in_the_score_are_errors():
    with pytest.raises(ValueError, match="at least one chunk"):
        count_chunks([])
    with pytest.raises(ValueError, match="`in_score` contains unknown identities: dog"):
        count_chunks([([1], [0.5], {"cat": [1]})], in_score=["dog"])
