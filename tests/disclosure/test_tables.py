"""Texts as tables: delimiters, column names, JSON Lines, limits."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.disclosure import tables
from grader.disclosure.source import GivenUp
from grader.disclosure.tables import MOST_COLUMNS, FileTable, _delimiter, delimited, json_lines
from tests.fixtures.examples import examples

CELL = st.text("ab;\"\n '", max_size=4)
ROWS = st.lists(st.lists(CELL, min_size=1, max_size=4), min_size=1, max_size=9)


def read(table: FileTable) -> tuple[list[str], list[list[str]]]:
    rows = list(table.rows)
    return table.names, rows


def of_csv(text: str) -> tuple[list[str], list[list[str]]]:
    return read(delimited("x", io.StringIO(text, newline="")))


def of_json(*values: Any) -> tuple[list[str], list[list[str]]]:
    return read(json_lines("x", io.StringIO("\n".join(map(json.dumps, values)))))


@examples(150)
@given(ROWS, st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]), st.integers(1, 9))
def test_rows_equal_those_of_the_csv_module(rows, quoting: int, sample: int):
    text = io.StringIO()
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows(rows)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tables, "SAMPLE_LINES", sample)
        patched.setattr(tables, "_delimiter", lambda lines: ",")
        names, found = of_csv(text.getvalue())
    assert found == [row for row in csv.reader(io.StringIO(text.getvalue(), newline="")) if row]
    assert len(names) == len(set(names)) == max(map(len, found), default=0)


def test_columns_are_named_by_the_first_row_or_by_their_number():
    names, _ = of_csv(f"a, b  c ,a,,{'x' * 70},d\n")
    assert names == ["a", "b c", "column 3", "column 4", "x" * 60, "d"]
    assert of_csv("a,b\n1,2,3\n4\n") == (["a", "b", "3"], [["a", "b"], ["1", "2", "3"], ["4"]])


@pytest.mark.parametrize(
    ("values", "names", "rows"),
    [
        ([{"a": 1, "b": "x"}, {"a": 2, "b": None}], ["a", "b"], [["1", "x"], ["2", ""]]),
        ([{"a": 1}, {"b": 2}], ["a", "b"], [["1"], ["", "2"]]),
        ([{"a": {"b": 1, "c": [5, 6]}}], ["a.b", "a.c.0", "a.c.1"], [["1", "5", "6"]]),
        ([[1, 2], [3]], ["0", "1"], [["1", "2"], ["3", ""]]),
        ([{"a": 1}, 7], ["a", "value"], [["1"], ["", "7"]]),
    ],
)
def test_json_values_become_columns_by_their_path(values: list[Any], names: list[str], rows):
    assert of_json(*values) == (names, rows)


def test_exceeded_limits_are_explained(monkeypatch: pytest.MonkeyPatch):
    assert len(of_csv(",".join("a" * MOST_COLUMNS))[0]) == MOST_COLUMNS
    many = {str(key): key for key in range(MOST_COLUMNS)}
    assert len(of_json(many)[0]) == MOST_COLUMNS
    with pytest.raises(GivenUp, match=r"^it has more than 5,000 columns$"):
        of_csv(",".join("a" * (MOST_COLUMNS + 1)))
    with pytest.raises(GivenUp, match=r"^it has more than 5,000 columns$"):
        of_json(many, {"more": 1})
    with pytest.raises(GivenUp, match=r"^line 3 is not valid JSON \(Expecting value"):
        read(json_lines("x", io.StringIO("{}\n\nx\n")))
    with pytest.raises(GivenUp, match=r"^line 3 cannot be read \(field larger than field limit"):
        of_csv(f'a\nb\n"{"c" * 200_000}"\n')
    monkeypatch.setattr(tables, "LONGEST_LINE", 10)
    assert of_csv("a,b\n12345678\n")[1] == [["a", "b"], ["12345678"]]
    with pytest.raises(GivenUp, match=r"^a line has more than 10 characters$"):
        of_csv("a,b\n1234567890\n")


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b;c\n1,5;2;3\n4;5,5;6\n7;8;9\n", ";"),
        ("a\tb\n1, 2, 3\t4\n5\t6\n", "\t"),
        ("a,b;c\n1;2\n3;4\n5;6\n7,8,9;1\n", ";"),
        ("a,b,c;d\n1,2,3;4\n5,6,7;8\n", ","),
        ("\n\na|b\n\n1|2\n", "|"),
        ("7 1\n8 0\n", " "),
        ("id text\n7 a b\n", ","),
        ("id,text\n7,good day\n", ","),
    ],
)
def test_delimiter_is_the_character_that_splits_the_first_lines_most_evenly(sample: str, delimiter: str):
    assert _delimiter(sample.splitlines(keepends=True)) == delimiter
