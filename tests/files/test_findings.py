"""Classes of numbers, ids and notes at the boundaries of each rule."""

import gzip
import io

import numpy as np
import pytest

from grader.files.reading.containers import CHUNK_BYTES, open_content
from grader.files.reading.row_ids import as_integer
from grader.files.reading.text import split_fields
from grader.files.submission.submission import remarks_on


def test_integral_decimal_is_an_id_within_the_exact_range_of_floats():
    for value, integer in (("7.0", b"7"), ("7.", b"7"), ("7", None), ("7.01", None), ("-7.0", None)):
        assert as_integer(value.encode()) == integer
    assert as_integer(f"{2**53 - 1}.0".encode()) == str(2**53 - 1).encode()
    assert as_integer(f"{2**53}.0".encode()) is None


@pytest.mark.parametrize(
    ("rows", "distinct", "codes"),
    [
        (20, 2, ["few_distinct_values"]),
        (19, 2, ["many_ties"]),
        (10_000, 1000, ["few_distinct_values"]),
        (10_010, 1001, []),
        (1_001_000, 1001, []),
        (1_000_000, 1000, ["few_distinct_values"]),
        (2, 2, []),
        (1, 1, []),
    ],
)
def test_note_on_ties_appears_only_for_many_ties(rows, distinct, codes):
    predictions = np.arange(rows) % distinct / distinct
    assert [note.code for note in remarks_on(predictions)] == codes


def test_ties_and_values_outside_0_to_1_are_counted():
    values = np.arange(100) / 100
    values[:2] = 0.5
    (note,) = remarks_on(values)
    assert (note.code, note.count) == ("many_ties", 3)
    assert remarks_on(np.append(values[1:], np.arange(100, 150) / 150)) == []
    (note,) = remarks_on(np.array([0.0, 1.0, 1.5, -0.1]))
    assert (note.code, note.count, note.line) == ("outside_unit_interval", 2, 4)


def test_ties_of_zeros_with_both_signs_are_reported_in_a_large_file():
    predictions = np.arange(20_000) / 20_000
    predictions[:300], predictions[300:600] = 0.0, -0.0
    (note,) = remarks_on(predictions)
    assert (note.code, note.count) == ("many_ties", 600)


def test_gzip_file_is_read_in_chunks():
    class Source(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None and 0 < size <= CHUNK_BYTES
            return super().read(size)

    data = np.random.default_rng(1).bytes(3 * CHUNK_BYTES)
    with open_content(Source(gzip.compress(data)), cap=2 * len(data)) as stream:
        assert b"".join(iter(lambda: stream.read(10_000), b"")) == data


def test_doubled_quotes_in_a_field_are_one():
    assert split_fields(b'"a ""b""",0.5') == [b'a "b"', b"0.5"]
