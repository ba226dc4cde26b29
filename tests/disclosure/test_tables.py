"""Files as tables of text cells: JSON layouts and delimiters."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from grader.disclosure.layers import GivenUp
from grader.disclosure.table_formats import (
    DEEPEST,
    MOST_COLUMNS,
    _delimiter,
    is_json_lines,
    json_tables,
    of_records,
)
from grader.disclosure.tables import Chunk, chunk_of, members_as_table, text_of, texts_of


def laid_out(chunk: Chunk) -> dict[str, list[Any]]:
    rows = np.arange(chunk.row_count)
    return {name: list(chunk.cells(name, rows)) for name in chunk.names}


def tables(data, name: str = "x") -> list[tuple[str, dict[str, list[Any]]]]:
    return [(table.name, laid_out(chunk)) for table in json_tables(name, data) for chunk in table.chunks]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (" a ", "a"),
        (None, ""),
        (b" \xff1 ", "\ufffd1"),
        (math.nan, ""),
        (pd.NaT, ""),
        (pd.NA, ""),
        (0.5, "0.5"),
        (True, "True"),
        (["a"], "['a']"),
    ],
)
def test_cell_is_a_trimmed_text_or_empty_if_missing(value, text: str):
    assert text_of(value) == text
    assert texts_of([value, " b "]) == [text, "b"]


def test_chunk_returns_the_requested_rows():
    chunk = chunk_of({"a": [1, 2, 3], "b": [4, 5, 6]}, 3)
    assert (chunk.names, chunk.row_count) == (["a", "b"], 3)
    assert chunk.cells("b", np.array([2, 0])) == [6, 4]
    (names,) = members_as_table([("f", 1, 3, 0), ("g", 2, 4, 9)]).chunks
    assert list(laid_out(names).values()) == [["f", "g"], [1, 2], [3, 4], [0, 9]]


@pytest.mark.parametrize(
    ("records", "columns"),
    [
        ([{"a": 1, "b": "x"}, {"a": 2, "b": None}], {"a": [1, 2], "b": ["x", None]}),
        ([{"a": 1}], {"a": [1]}),
        ([{"a": 1}, {"b": 2}], {"a": [1, None], "b": [None, 2]}),
        ([{"a": 1}, 7], {"a": [1, None], "value": [None, 7]}),
        ([7, {"a": 1}], {"value": [7, None], "a": [None, 1]}),
        ([{"a": {"b": 1, "c": [5, 6]}}], {"a.b": [1], "a.c.0": [5], "a.c.1": [6]}),
        ([[1, 2], [3]], {"0": [1, 3], "1": [2, None]}),
        ([{"a": 1}, {"a": {"b": 2}}], {"a": [1, None], "a.b": [None, 2]}),
        ([], {}),
    ],
)
def test_records_become_columns_by_the_path_of_each_value(records: list[Any], columns: dict[str, list[Any]]):
    chunk = of_records(records)
    assert (laid_out(chunk), chunk.row_count) == (columns, len(records))


def test_deep_or_long_values_become_text_and_too_many_keys_are_an_error():
    deep: Any = 1
    for _ in range(DEEPEST + 1):
        deep = {"k": deep}
    assert laid_out(of_records([deep])) == {".".join(["k"] * DEEPEST): ["{'k': 1}"]}
    long = [0] * (MOST_COLUMNS + 1)
    assert laid_out(of_records([long])) == {"value": [str(long)]}
    most = {str(key): key for key in range(MOST_COLUMNS)}
    for records in ([most], [most, {"0": 1}]):
        assert len(of_records(records).names) == MOST_COLUMNS
    for records in ([most | {"more": 1}], [most, {"more": 1}]):
        with pytest.raises(GivenUp, match=f"more than {MOST_COLUMNS:,} keys"):
            of_records(records)


def test_document_is_read_as_every_possible_table():
    assert tables([{"a": 1}, {"a": 2}]) == [("x", {"a": [1, 2]})]
    assert tables([]) == tables({}) == tables("text") == []
    by_id = {"r1": 0.5, "r2": 1}
    assert tables(by_id) == [("x", {"key": ["r1", "r2"], "value": [0.5, 1]})]
    assert tables({"id": ["r1", "r2"], "y": [0, 1]})[-1] == ("x", {"id": ["r1", "r2"], "y": [0, 1]})
    of_pandas = {"id": {"0": "r1", "1": "r2"}, "y": {"0": 1, "2": 0}}
    assert ("x", {"key": ["0", "1", "2"], "id": ["r1", "r2", None], "y": [1, None, 0]}) in tables(of_pandas)
    inside = tables({"meta": {"n": 2}, "rows": [{"y": 1}, {"y": 0}]})
    assert ("x: rows", {"y": [1, 0]}) in inside
    assert "x: meta" not in dict(inside)  # A single value is not a table.
    uneven = tables({"a": [1, 2], "b": [3, 4, 5]})
    assert [name for name, _ in uneven] == ["x", "x: a", "x: b"]


@pytest.mark.parametrize(
    ("beginning", "are_lines"),
    [
        ('{"a": 1}\n{"a": 2}', True),
        ("\n [1]\n[2]", True),
        ('{"a": 1}\n \n', False),
        ('{"a":\n1}', False),
        ("7\n8", False),
        ('[{"a": 1},\n{"a": 2}]', False),
        ("[" * 100_000 + "\nx", False),
    ],
)
def test_json_lines_have_a_complete_first_value_followed_by_others(beginning: str, are_lines: bool):
    assert is_json_lines(beginning) is are_lines


@pytest.mark.parametrize(
    ("sample", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b;c\n1,5;2;3\n4;5,5;6\n7;8;9\n", ";"),
        ("a\tb\n1, 2, 3\t4\n5\t6\n", "\t"),
        ("a,b;c\n1;2\n3;4\n5;6\n7,8,9;1\n", ";"),
        ("a,b,c;d\n1,2,3;4\n5,6,7;8\n", ","),
        ("a;b\n1;2\n3,4,5,6", ";"),  # The last line may be truncated.
        ("a;b,,\n1;2,,\n3;4\n5;6\n7;8;;9\nx", ";"),  # Most lines contain one semicolon.
        ("\n\na|b\n\n1|2\n", "|"),
    ],
)
def test_delimiter_is_the_character_that_splits_the_first_lines_most_evenly(sample: str, delimiter: str):
    assert _delimiter(sample) == delimiter
