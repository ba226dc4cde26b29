"""Prediction files with one column per label."""

import gzip

import pytest

from grader.files import FileRejected, RowIds, read_label_predictions

IDS = RowIds.of(["1", "2", "3", "4"])


def read(text, other_labels=("insult", "threat")):
    data = text if isinstance(text, bytes) else text.encode()
    return read_label_predictions(data, IDS, label="target", other_labels=other_labels)


def test_columns_are_joined_by_id_and_named_by_label():
    predictions, _ = read("insult,id,target\n.1,4,.9\n.2,2,.8\n.3,3,.7\n.4,1,.6\n")
    assert list(predictions) == ["target", "insult"]
    assert predictions["target"].tolist() == [0.6, 0.8, 0.7, 0.9]
    assert predictions["insult"].tolist() == [0.4, 0.2, 0.3, 0.1]


@pytest.mark.parametrize("name", ["prediction", "target", "toxicity", "label"])
def test_scored_label_has_several_names(name):
    predictions, _ = read(f"id,{name},insult\n1,.1,0\n2,.2,0\n3,.3,0\n4,.4,1\n")
    assert predictions["target"].tolist() == [0.1, 0.2, 0.3, 0.4]


def test_name_of_another_label_never_denotes_the_scored_label():
    predictions, _ = read("id,toxicity\n1,.1\n2,.2\n3,.3\n4,.4\n", other_labels=("toxicity",))
    assert list(predictions) == ["toxicity"]


def test_file_with_one_prediction_is_a_submission():
    predictions, notes = read(gzip.compress(b"id,prediction\n1.0,0.1\n2,0.2\n3,0.3\n4,0.4\n"))
    assert predictions["target"].tolist() == [0.1, 0.2, 0.3, 0.4]
    assert [note.code for note in notes] == ["decimal_ids"]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("id,insult,prediction,target\n1,0,0,0\n", ["several_predictions"]),
        ("id,inslt,insult,insult\n1,0,0,0\n", ["duplicate_column"]),
        ("insult,target\n1,0\n", ["missing_column"]),
        ("id,target,Insult\n1,0,0\n", ["unexpected_column"]),
        (
            "id,insult,threat\n1,,0\n1,0,0\n3,nan,0\n4,0,0\n",
            ["empty_prediction", "nan_prediction", "duplicate_row_id", "missing_row_id"],
        ),
        ("", ["empty_file"]),
    ],
)
def test_problems_are_those_of_submissions(text, codes):
    with pytest.raises(FileRejected) as rejected:
        read(text)
    assert rejected.value.file == "submission"
    assert [problem.code for problem in rejected.value.problems] == codes
