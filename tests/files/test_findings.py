"""Messages about a field, an id or a whole file, at the boundaries of each rule."""

import gzip
import io

import numpy as np
import pytest

from grader.files.reading.containers import CHUNK_BYTES, GzipMembers
from grader.files.reading.numbers import describe_number, may_underflow
from grader.files.reading.row_ids import as_integer, describe_id, fault_of_id, without_invisible
from grader.files.reading.text import split_fields
from grader.files.solution.column_roles import ColumnSample, ColumnTally
from grader.files.solution.header import Choice, assign
from grader.files.submission.faults import remarks_on

INDEX = {text.encode(): place for place, text in enumerate(("7", "abc", "DEF", "é", "e\u0301x"))}


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("007", " (leading zero?)"),
        ("70", ""),
        ("ABC", " (case matters)"),
        ("def", " (case matters)"),
        ("Ghi", ""),
        ("e\u0301", " (composed and decomposed Unicode letters are different)"),
        ("\u00e9x", " (composed and decomposed Unicode letters are different)"),
    ],
)
def test_unknown_id_has_a_hint(value: str, hint: str):
    found = describe_id("unknown_id", value.encode(), INDEX)
    assert f" is not in the test set{hint}; expected one of its ids" in found.sentence
    assert (found.expected, found.found) == ("an id of the test set", f"'{value}'")


@pytest.mark.parametrize(
    ("value", "are_integers", "code", "sentence"),
    [
        ("", True, "empty_id", "empty id; expected an id of the test set"),
        (
            "7\u00a0",
            True,
            "invisible_character",
            "invisible character U+00A0 (no-break space) in id '7<U+00A0>';",
        ),
        (
            "7e3",
            True,
            "scientific_id",
            "id '7e3' is in scientific notation; expected an id that contains only the digits 0-9",
        ),
        ("-1.5E+3", True, "scientific_id", "in scientific notation"),
        (
            "seven",
            True,
            "not_an_id",
            "'seven' is not an id; expected an id that contains only the digits 0-9",
        ),
        ("-7.5", True, "unknown_id", "id -7.5 is not in the test set; expected one of its ids"),
        ("7e3", False, "unknown_id", "id 7e3 is not in the test set"),
    ],
)
def test_invalid_id_is_described(value: str, are_integers: bool, code: str, sentence: str):
    assert fault_of_id(value.encode(), are_integers=are_integers) == code
    assert sentence in describe_id(code, value.encode(), {}).sentence


def test_integral_decimal_is_an_id_within_the_exact_range_of_floats():
    for value, integer in (("7.0", b"7"), ("7.", b"7"), ("7", None), ("7.01", None), ("-7.0", None)):
        assert as_integer(value.encode()) == integer
    assert as_integer(f"{2**53 - 1}.0".encode()) == str(2**53 - 1).encode()
    assert as_integer(f"{2**53}.0".encode()) is None
    assert without_invisible("a\u200b\u00a0b".encode()) == b"ab"


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("true", "'true' is a Boolean, not a number"),
        ("FALSE", "'FALSE' is a Boolean, not a number"),
        ("\u22121", "has U+2212"),
        ("\u20131", "has U+2013"),
        ("\u20141", "has U+2014"),
        ("1\u20ac", "is not a number: it contains U+20AC"),
        ("np.float64(0.5)", "(NumPy 2 representation; write float(x))"),
        ("high", "'high' is not a number; expected"),
    ],
)
def test_invalid_number_is_described(value: str, sentence: str):
    assert sentence in describe_number("not_a_number_of_any_kind", value.encode()).sentence


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"1,1e-400\n", True),
        (b"1,1E-400\n", True),
        (b"1,1e-0400\n", True),
        (b"1,0." + b"0" * 400 + b"1\n", True),
        (b"1,1e-99\n2,0.0\n3,1E-05\n", False),
        (b"1,1e+400\n", False),
    ],
)
def test_text_with_numbers_too_small_for_a_float_is_recognized(text: bytes, expected: bool):
    assert may_underflow(text) is expected


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
def test_note_on_ties_appears_only_for_many_ties(rows: int, distinct: int, codes: list[str]):
    predictions = np.arange(rows) % distinct / distinct
    assert [note.code for note in remarks_on(predictions, 2)] == codes


def test_share_of_ties_and_values_outside_0_to_1_are_reported_with_a_line():
    values = np.arange(100) / 100
    values[:2] = 0.5
    (note,) = remarks_on(values, 2)
    assert (note.code, note.count) == (
        "many_ties",
        3,
    ) and "3 rows (3.0%) share the prediction 0.5" in note.message
    assert remarks_on(np.append(values[1:], np.arange(100, 150) / 150), 2) == []
    ends = np.array([0.0, 1.0, 1.5, -0.1])
    (note,) = remarks_on(ends, 5)
    assert (note.code, note.count, note.line) == ("outside_unit_interval", 2, 7)


def test_ties_of_zeros_with_both_signs_are_reported_in_a_large_file():
    predictions = np.arange(20_000) / 20_000
    predictions[:300], predictions[300:600] = 0.0, -0.0
    (note,) = remarks_on(predictions, 2)
    assert (note.code, note.count) == ("many_ties", 600)


def test_missing_label_is_reported_with_the_existing_columns():
    for names, code, shown in (
        (["id", "cat"], "missing_label", "'id' and 'cat'"),
        (["id", "label", "target"], "several_labels", "'label' and 'target'"),
    ):
        (problem,) = assign([ColumnSample(name, (), ColumnTally()) for name in names], Choice())  # type: ignore[misc]
        assert (problem.code, problem.found) == (code, shown)


def test_gzip_file_is_read_in_chunks():
    class Source(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None and 0 < size <= CHUNK_BYTES
            return super().read(size)

    data = np.random.default_rng(1).bytes(3 * CHUNK_BYTES)
    members = GzipMembers(Source(gzip.compress(data)))  # type: ignore[arg-type]
    assert b"".join(iter(lambda: members.more(10_000), b"")) == data


def test_doubled_quotes_in_a_field_are_one():
    assert split_fields(b'"a ""b""",0.5') == [b'a "b"', b"0.5"]
