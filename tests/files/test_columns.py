"""Submissions with several columns of numbers, with classes and with lists of classes."""

import csv
import gzip
import io
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.files import FileRejected, RowIds, read_submission, write_sample_submission
from grader.files.reading.text import text_of
from grader.files.submission.columns import PredictedColumn, SubmissionColumns
from grader.files.submission.explaining_path import RowReader
from grader.files.submission.header import read_header
from grader.files.submission.submission import read_proven

IDS = [f"r{row}" for row in range(60)]
ROW_IDS = RowIds.of(IDS)
CLASSES = ("cat", "dog", "Ärger", "b,c")
PROBABILITIES = SubmissionColumns(tuple(PredictedColumn(name, 0, 1) for name in ("a", "b", "c d")))
ONE_CLASS = SubmissionColumns((PredictedColumn("label", classes=CLASSES),))
LISTS = SubmissionColumns((PredictedColumn("label", classes=CLASSES[:3], places=2),))
ALL = {"numbers": PROBABILITIES, "class": ONE_CLASS, "lists": LISTS}


def file_of(wanted, rows, *, quoting=csv.QUOTE_MINIMAL, end="\n"):
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator=end).writerows([wanted.names, *rows])
    return text.getvalue().encode()


def values_of(wanted, generator):
    column = wanted.columns[0]
    if column.places:
        return [" ".join(generator.choices(column.classes, k=generator.randint(1, 4)))]
    if column.classes:
        return [generator.choice(column.classes)]
    return [repr(generator.random()) for _ in wanted.columns]


def simply_read(wanted, data):
    """Return the values of each column in the order of IDS, read with `csv` alone."""
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(data.decode(), newline=""))}

    def value(text: str, column: PredictedColumn) -> object:
        if column.places:
            codes = [column.classes.index(name) for name in text.split()][: column.places]
            return [*codes, *[-1] * (column.places - len(codes))]
        return column.classes.index(text) if column.classes else float(text)

    return [[value(rows[name][column.name], column) for name in IDS] for column in wanted.columns]


def rejection(data, wanted):
    """Return the first line of each problem."""
    with pytest.raises(FileRejected) as caught:
        read_submission(data, ROW_IDS, wanted=wanted)
    return {problem.code: problem.line for problem in caught.value.problems}


@pytest.mark.parametrize("kind", ALL)
@given(
    seed=st.integers(0, 1 << 32),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_both_paths_and_a_simple_reader_return_the_same_values(kind, seed, quoting, end):
    wanted, generator = ALL[kind], random.Random(seed)
    rows = [[name, *values_of(wanted, generator)] for name in generator.sample(IDS, len(IDS))]
    data = file_of(wanted, rows, quoting=quoting, end=end)
    expected = simply_read(wanted, data)
    for packed in (data, gzip.compress(data, mtime=0)):
        columns = read_submission(packed, ROW_IDS, wanted=wanted).columns
        assert [columns[column.name].tolist() for column in wanted.columns] == expected
    text = text_of(data, "")
    header = read_header(text, wanted=wanted)
    explained, _, _ = RowReader(text, header, ROW_IDS, wanted).read()
    assert [values.tolist() for values in explained] == expected
    proven = read_proven(text.data[header.offset :], ROW_IDS, wanted)
    if b"b,c" not in data:
        assert proven is not None


@pytest.mark.parametrize("kind", ALL)
def test_a_large_file_is_read_equally_with_and_without_pandas(kind, monkeypatch):
    wanted, generator = ALL[kind], random.Random(1)
    ids = [str(row) for row in range(30_000)]
    rows = [[name, *values_of(wanted, generator)] for name in generator.sample(ids, len(ids))]
    data = file_of(wanted, rows).replace(b'"b,c"', b"cat")
    with_pandas = read_submission(data, RowIds.of(ids), wanted=wanted)
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    without = read_submission(data, RowIds.of(ids), wanted=wanted)
    for name, values in with_pandas.columns.items():
        np.testing.assert_array_equal(values, without.columns[name])
        assert values.dtype == without.columns[name].dtype


@pytest.mark.parametrize("kind", ALL)
def test_the_sample_submission_is_accepted(kind):
    sample = write_sample_submission(ROW_IDS, ALL[kind])
    assert not read_submission(sample, ROW_IDS, wanted=ALL[kind]).notes


def test_columns_may_be_in_another_order_and_the_file_says_so():
    rows = [[name, 0.25, 0.5, 0.75] for name in IDS]
    data = file_of(PROBABILITIES, rows).replace(b"id,a,b,c d", b"id,b,a,c d")
    submission = read_submission(data, ROW_IDS, wanted=PROBABILITIES)
    assert [submission.columns[name][0] for name in ("a", "b", "c d")] == [0.5, 0.25, 0.75]
    assert [note.code for note in submission.notes] == ["columns_reordered"]


def test_all_problems_of_several_columns_are_reported_with_their_lines():
    rows: list[list[object]] = [[name, 0.25, 0.5, 0.25] for name in IDS]
    rows[0][1], rows[1][2], rows[2][3], rows[3][3] = "1.5", "nan", "", "x"
    rows[4], rows[5][0] = ["r4", 0.5, 0.5], "r9999"
    assert rejection(file_of(PROBABILITIES, rows), PROBABILITIES) == {
        "out_of_range": 2,
        "nan_prediction": 3,
        "empty_prediction": 4,
        "not_a_number": 5,
        "field_count": 6,
        "unknown_id": 7,
    }


def test_unknown_classes_are_reported():
    rows = [[name, "cat"] for name in IDS]
    rows[0][1], rows[1][1], rows[2][1] = "Dog", "bird", ""
    assert rejection(file_of(ONE_CLASS, rows), ONE_CLASS) == {"unknown_class": 2, "empty_prediction": 4}
    rows = [[name, "dog cat"] for name in IDS]
    rows[7][1] = "dog bird"
    assert rejection(file_of(LISTS, rows), LISTS) == {"unknown_class": 9}


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ("id,a,b", "missing_column"),
        ("id,a,b,c d,e", "unexpected_column"),
        ("Unnamed: 0,id,a,b,c d", "index_column"),
        ("id,a,a,b", "duplicate_column"),
        ("r0,0.5,0.5,0.5", "wrong_header"),
    ],
)
def test_a_wrong_header_is_reported_alone(header, code):
    assert rejection(f"{header}\nr0,x\n".encode(), PROBABILITIES) == {code: 1}


def test_many_columns_are_read():
    wanted = SubmissionColumns(tuple(PredictedColumn(f"class {place}") for place in range(300)))
    assert rejection(b"id,prediction\n1,2\n", wanted) == {"missing_column": 1}
    sample = write_sample_submission(ROW_IDS, wanted)
    assert len(read_submission(sample, ROW_IDS, wanted=wanted).columns) == 300


def test_columns_of_numbers_as_names_may_be_in_another_order():
    wanted = SubmissionColumns(tuple(PredictedColumn(name, 0, 1) for name in ("0", "1")))
    data = file_of(wanted, [[name, 0.25, 0.75] for name in IDS]).replace(b"id,0,1", b"id,1,0")
    assert read_submission(data, ROW_IDS, wanted=wanted).columns["0"][0] == 0.75


def test_texts_are_read_as_they_are():
    wanted = SubmissionColumns((PredictedColumn("answer", is_text=True), PredictedColumn("share", 0, 1)))
    rows = [[name, f'{name}, "Ä" 1' if place else "", "0.5"] for place, name in enumerate(IDS)]
    read = read_submission(file_of(wanted, rows[::-1]), ROW_IDS, wanted=wanted)
    assert read.columns["answer"].tolist() == [row[1] for row in rows]
    assert read.columns["share"].tolist() == [0.5] * len(IDS)
    rows[3][1] = "x" * 1001
    assert rejection(file_of(wanted, rows), wanted) == {"field_too_long": 5}
    sample = write_sample_submission(ROW_IDS, wanted)
    assert read_submission(sample, ROW_IDS, wanted=wanted).columns["answer"].tolist() == ["text"] * len(IDS)


def test_accents_of_classes_may_be_decomposed_and_decimals_name_their_cause():
    wanted = SubmissionColumns((PredictedColumn("kind", classes=("caf\u00e9", "1")),))
    ids = RowIds.of(["a", "b"])
    read = read_submission("id,kind\na,cafe\u0301\nb,1\n".encode(), ids, wanted=wanted)
    assert read.columns["kind"].tolist() == [0, 1]
    with pytest.raises(FileRejected, match="wrote the whole number 1 as a decimal"):
        read_submission(b"id,kind\na,1.0\nb,1\n", ids, wanted=wanted)
    large = RowIds.of([f"r{row}" for row in range(60_000)])
    body = "".join(f"r{row},cafe\u0301\n" for row in range(60_000))
    assert not read_submission(f"id,kind\n{body}".encode(), large, wanted=wanted).columns["kind"].any()


def test_the_columns_of_ids_and_predictions_may_have_any_names():
    column = PredictedColumn("units", key="prediction", aliases=("prediction",))
    wanted, ids = SubmissionColumns((column,), "sku"), RowIds.of(["a", "b"])
    for header in ("sku,units", "id,prediction", "sku,prediction"):
        read = read_submission(f"{header}\na,1\nb,2\n".encode(), ids, wanted=wanted)
        assert read.predictions.tolist() == [1, 2]
    with pytest.raises(FileRejected, match="the header 'sku,units'"):
        read_submission(b"id,other\na,1\nb,2\n", ids, wanted=wanted)
    assert write_sample_submission(ids, wanted).startswith(b"sku,units\n")
