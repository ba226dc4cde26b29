"""Size-limited previews of data files: first rows and column statistics."""

import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest

from grader.disclosure import Hidden, examine
from grader.disclosure.preview import CELL_LENGTH, SAMPLE_CHARACTERS, SAMPLE_ROWS, SHOWN_COLUMNS, SHOWN_ROWS

HIDDEN = Hidden.of(
    ["a", "b"],
    label=("toxicity", np.array([0.0, 1.0])),
    other_labels={},
    identities={},
    usage=np.array([1, 2], np.int8),
)


def preview(data: bytes):
    examined = examine(io.BytesIO(data), HIDDEN)
    return examined.preview


def test_preview_has_the_first_rows_and_column_statistics():
    found = preview(b"id,age,note\n1,20,\n2,,x\n3,40,y\n4,30.5,y\n5,1,y\n6,2,y\n")
    assert found["first"] == [
        ["1", "20", ""],
        ["2", "", "x"],
        ["3", "40", "y"],
        ["4", "30.5", "y"],
        ["5", "1", "y"],
    ]
    assert (found["rows"], found["is_sample"], found["column_count"], found["table"]) == (6, False, 3, "")
    ids, age, note = found["columns"]
    assert age == {"name": "age", "blank": 1, "distinct": 5, "low": "1", "mean": "18.7", "high": "40"}
    assert note == {"name": "note", "blank": 1, "distinct": 2}
    assert ids["distinct"] == 6


@pytest.mark.parametrize("value", ["inf", "nan", "1e999", "9" * 41, "x"])
def test_column_with_a_non_finite_value_has_no_mean(value: str):
    lines = [f"{row},{row}" for row in range(250)]
    found = preview("\n".join(["id,x", *lines, f"250,{value}", "251,7"]).encode())
    assert (found["rows"], found["columns"][1]) == (252, {"name": "x", "blank": 0, "distinct": 251})


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"id,x\na,1\nb,2\n", mtime=0),
        b'{"id": "a", "x": 1}\n{"id": "b", "x": 2}\n',
        b"id\tx\na\t1\nb\t2\n",
    ],
)
def test_tables_in_other_formats_have_a_preview(data: bytes):
    found = preview(data)
    assert found["first"] == [["a", "1"], ["b", "2"]]
    assert found["columns"][1]["mean"] == "1.5"


def test_characters_unfit_for_databases_or_pages_become_blanks():
    found = preview("id,na\u202eme\na,x\x07y\u200fz\nb,é\n".encode())
    assert found["columns"][1]["name"] == "na me"
    assert found["first"] == [["a", "x y z"], ["b", "é"]]
    lone = preview(b'{"id": "a", "x": "\\ud800\\u0000"}\n{"id": "b", "x": "1"}\n')
    assert lone["first"][0] == ["a", "  "]


@pytest.mark.parametrize(
    "data",
    [
        b"id," + b",".join(b"c%d" % number for number in range(4_000)) + b"\n" + b"1," * 4_000 + b"1\n",
        b"id,x\n" + b"1," + b"y" * 10_000_000 + b"\n2,z\n",
        b"id,x\n" + b"1,123456789\n" * 200_000,
        b"id,x\n" + b"1,%s\n" % (b"9" * 5_000) * 3_000,
        b"x" * 1_000_000,
        pd.DataFrame({f"{'n' * 5_000}{place}": [1e308] * 50 for place in range(50)}).to_csv().encode(),
    ],
    ids=["wide", "long cell", "many rows", "long cells", "one word", "long names, huge numbers"],
)
def test_preview_of_any_file_is_small(data: bytes):
    found = preview(data)
    assert found is None or len(json.dumps(found)) < 60_000
    if found is not None:
        assert found["rows"] <= SAMPLE_ROWS
        assert len(found["columns"]) <= SHOWN_COLUMNS
        assert len(found["first"]) <= SHOWN_ROWS
        assert max(len(cell) for row in found["first"] for cell in row) <= CELL_LENGTH + 1


def test_long_cells_end_the_sample_early():
    found = preview(b"id,x\n" + b"1,%s\n" % (b"y" * 5_000) * 3_000)
    assert found["is_sample"]
    assert found["rows"] <= SAMPLE_CHARACTERS // 5_000 + 100


def test_sample_ends_at_its_limit_and_a_single_column_can_have_a_header(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("grader.disclosure.preview.SAMPLE_CHARACTERS", 200)
    found = preview(b"x\n" + b"ab\n" * 300)
    assert (found["rows"], found["first"], found["is_sample"]) == (100, [["ab"]] * 5, True)
