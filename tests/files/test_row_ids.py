import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.files import RowIds, write_sample_submission
from grader.files.reading.row_ids import PADDING_BYTES
from grader.files.reading.text import INVISIBLE

proper_ids = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0"), min_size=1, max_size=90).filter(
        lambda text: text == text.strip(" \t") and not INVISIBLE.search(text)
    ),
    unique=True,
    max_size=12,
)


def located(ids):
    encoded = [name.encode() for name in ids]
    lengths = np.array([len(name) for name in encoded], np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.int64)
    buffer = np.frombuffer(b"".join(encoded) + bytes(PADDING_BYTES), np.uint8)
    return buffer, starts, lengths


@given(proper_ids)
def test_ids_survive_a_round_trip_through_their_blob(ids):
    row_ids = RowIds.of(ids)
    again = RowIds(row_ids.text)
    assert list(again) == ids
    assert len(again) == len(ids)
    assert again == row_ids
    assert pickle.loads(pickle.dumps(row_ids)) == row_ids


@given(proper_ids.filter(bool), st.randoms())
def test_positions_of_shuffled_ids_are_found(ids, random):
    row_ids = RowIds.of(ids)
    order = list(range(len(ids)))
    random.shuffle(order)
    positions = row_ids.positions(*located([ids[place] for place in order]))
    if max(len(name.encode()) for name in ids) > 64:
        assert positions is None
    else:
        assert np.arange(len(ids))[positions].tolist() == order


def test_positions_are_proven_only_for_the_expected_ids():
    expected = ["1", "2", "10"]
    row_ids = RowIds.of(expected)
    for ids in itertools.product(["1", "2", "10", "1 ", "1\0", "01", "x"], repeat=3):
        proven = row_ids.positions(*located(list(ids))) is not None
        assert proven == (sorted(ids) == sorted(expected))


@pytest.mark.parametrize(
    "ids", [["a", "a"], [""], [" a"], ["a\t"], ["a\nb"], ["a\r"], ["a\0b"], ["a\u200b"], ["a", "", "b"]]
)
def test_invalid_ids_are_rejected(ids):
    with pytest.raises(ValueError, match="A row id is"):
        RowIds.of(ids)


def test_ids_with_equal_keys_are_left_to_the_explaining_path():
    long_ids = [f"{'x' * 80}{number}" for number in range(4)]
    assert RowIds.of(long_ids).positions(*located(long_ids)) is None


def test_integer_ids_are_distinguished_from_texts():
    assert RowIds.of(["0", "7000000"]).are_integers
    for name in ("07", "7.0", "-7", "x", "7 7", "٧"):  # noqa: RUF001
        assert not RowIds.of(["1", name]).are_integers


@pytest.mark.parametrize(
    ("ids", "rows"),
    [
        (["10", "9", "100"], b"9,0.0\n10,0.0\n100,0.0\n"),
        (["b", "a", "10", "9"], b"10,0.0\n9,0.0\na,0.0\nb,0.0\n"),
        (['say "hi"', "a,b"], b'"a,b",0.0\n"say ""hi""",0.0\n'),
        ([], b""),
    ],
)
def test_sample_submission_sorts_integers_by_value_and_texts_by_name(ids, rows):
    assert write_sample_submission(RowIds.of(ids)) == b"id,prediction\n" + rows
