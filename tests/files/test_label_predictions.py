"""Prediction files with one column per label."""

import gzip

import numpy as np
import pytest

from grader.files import FileRejected, RowIds, read_label_predictions

IDS = RowIds.of(["1", "2", "3", "4"])


def read(text, label="target", other_labels=("insult", "threat"), row_ids=IDS):
    data = text if isinstance(text, bytes) else text.encode()
    return read_label_predictions(data, row_ids, label=label, other_labels=other_labels)


def problems_of(text, **given):
    with pytest.raises(FileRejected) as rejected:
        read(text, **given)
    assert rejected.value.file == "submission"
    return rejected.value.problems


def test_columns_are_joined_by_id_and_named_by_label():
    found = read("insult,id,target\n.1,4,.9\n.2,2,.8\n.3,3,.7\n.4,1,.6\n")
    assert list(found.by_label) == ["target", "insult"]
    assert found.by_label["target"].tolist() == [0.6, 0.8, 0.7, 0.9]
    assert found.by_label["insult"].tolist() == [0.4, 0.2, 0.3, 0.1]
    assert found.unpredicted == ("threat",)


def test_rows_in_solution_order_keep_their_order():
    found = read("id,insult,threat\n1,.1,.5\n2,.2,.6\n3,.3,.7\n4,.4,.8\n")
    assert found.by_label["insult"].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert found.unpredicted == ("target",)


@pytest.mark.parametrize("name", ["prediction", "target", "toxicity", "label"])
def test_scored_label_has_several_names(name):
    found = read(f"id,{name},insult\n1,.1,0\n2,.2,0\n3,.3,0\n4,.4,1\n")
    assert found.by_label["target"].tolist() == [0.1, 0.2, 0.3, 0.4]


def test_name_of_another_label_never_denotes_the_scored_label():
    found = read("id,toxicity\n1,.1\n2,.2\n3,.3\n4,.4\n", other_labels=("toxicity",))
    assert list(found.by_label) == ["toxicity"]
    assert found.unpredicted == ("target",)


def test_file_with_one_prediction_is_read_like_a_submission():
    found = read(b"id,prediction\n1.0,0.1\n2,0.2\n3,0.3\n4,0.4\n")
    assert found.by_label["target"].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert [note.code for note in found.notes] == ["decimal_ids"]
    assert problems_of("id,prediction\n1,0.1\n")[0].code == "missing_row_id"


def test_compressed_table_is_read_with_its_notes():
    text = b"id,insult,threat\n1,2,.5\n2,.2,.6\n3,.3,.7\n4,.4,.8\n"
    found = read(gzip.compress(text))
    assert np.array_equal(found.by_label["insult"], [2, 0.2, 0.3, 0.4])
    outside = found.notes[-1]
    assert outside.code == "outside_unit_interval"
    assert outside.message.startswith("Column 'insult': 1 value outside [0, 1] (first line 2)")


def test_numbers_keep_their_last_digit():
    found = read("id,insult,threat\n1,0.1,5e-324\n2,0.30000000000000004,0\n3,0.3,1\n4,1e300,-1e300\n")
    assert found.by_label["insult"].tolist() == [0.1, 0.30000000000000004, 0.3, 1e300]
    assert found.by_label["threat"].tolist() == [5e-324, 0, 1, -1e300]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("id,insult,prediction,target\n1,0,0,0\n", ["several_predictions"]),
        ("id,inslt,insult,insult\n1,0,0,0\n", ["duplicate_column", "unexpected_column"]),
        ("id,foo\n1,0\n", ["missing_column", "unexpected_column"]),
        ("insult,target\n1,0\n", ["missing_column"]),
        (
            "id,insult,threat\n1,,0\n1,0,0\n3,nan,0\n",
            ["blank_prediction", "duplicate_row_id", "bad_prediction"],
        ),
        ("id,insult,threat\n4,0,0\n3,0,0\n7,0,0\n", ["unknown_id", "missing_row_id"]),
        ("id,insult,threat\n1,0,0\n2,0\n", ["field_count"]),
        ("id;insult;threat\n1;0;0\n", ["wrong_delimiter"]),
        ("", ["empty_file"]),
    ],
)
def test_all_problems_are_reported_together(text, codes):
    assert [problem.code for problem in problems_of(text)] == codes


def test_message_on_a_misspelled_column_lists_the_known_names():
    (problem,) = problems_of("id,target,Insult\n1,0,0\n")
    assert problem.message == (
        "Line 1: unexpected column: 'Insult'; "
        "expected id and columns called 'prediction', 'target', 'insult' and 'threat'."
    )


def test_blank_prediction_is_reported_with_column_and_line():
    problem = problems_of("id,target,insult\n1,0,0\n2,0,\n3,0,0\n4,0,0\n")[0]
    assert problem.message.startswith("Line 3: the prediction 'insult' is blank")


def test_many_ids_are_joined_in_any_order():
    ids = [f"comment-{number}" for number in range(5000)]
    order = np.random.default_rng(0).permutation(5000)
    rows = "".join(f"{ids[place]},{place},{place / 7}\n" for place in order)
    found = read(f"id,insult,threat\n{rows}", row_ids=RowIds.of(ids))
    assert np.array_equal(found.by_label["insult"], np.arange(5000))
    assert np.array_equal(found.by_label["threat"], np.arange(5000) / 7)


def test_message_on_an_empty_file_describes_the_expected_header():
    (problem,) = problems_of("")
    assert problem.message == (
        "The file is empty; expected a header with id and columns of predictions, followed by rows."
    )
