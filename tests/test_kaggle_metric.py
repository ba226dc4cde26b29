"""Kaggle metric interface: equal scores, joins by id, attribution of errors."""

import numpy as np
import pandas as pd
import pytest

from fairboard import MetricSettings, bias_report
from grader.kaggle import ParticipantVisibleError, score


@pytest.fixture
def solution():
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "id": np.arange(1000, 1300),
            "target": rng.random(300),
            "cat": np.where(rng.random(300) < 0.3, np.nan, rng.random(300).round(1)),
            "black dog": rng.random(300) < 0.4,
            "Usage": "Public",
        }
    )


@pytest.fixture
def submission(solution):
    rng = np.random.default_rng(5)
    predictions = np.round(solution["target"] + rng.normal(0, 0.3, len(solution)), 1)
    return pd.DataFrame({"id": solution["id"], "prediction": predictions})


def test_score_equals_the_librarys(solution, submission):
    report = bias_report(
        solution["target"],
        submission["prediction"],
        {name: solution[name] for name in ("cat", "black dog")},
    )
    assert score(solution, submission, "id") == report.score


def test_rows_are_joined_by_id_and_the_frames_are_not_changed(solution, submission):
    shuffled = submission.sample(frac=1, random_state=1)
    before = solution.copy(), shuffled.copy()
    assert score(solution, shuffled, "id") == score(solution, submission, "id")
    pd.testing.assert_frame_equal(solution, before[0])
    pd.testing.assert_frame_equal(shuffled, before[1])


def test_column_roles_and_settings_can_be_passed_by_name(solution, submission):
    renamed = solution.rename(columns={"target": "is harmful"})
    settings, names = MetricSettings(power=0), ["cat", "black dog"]
    identities = {name: solution[name] for name in names}
    report = bias_report(solution["target"], submission["prediction"], identities, settings=settings)
    number = score(
        renamed,
        submission.rename(columns={"prediction": "p"}),
        "id",
        label="is harmful",
        identities=names,
        prediction="p",
        settings=settings,
    )
    assert number == report.score != score(solution, submission, "id")


@pytest.mark.parametrize("ids", ["str", "object", "category", "Int64", "float64"])
@pytest.mark.parametrize("numbers", ["Float64", "object", "category"])
def test_score_is_the_same_for_every_type_of_column(solution, submission, ids, numbers):
    expected = score(solution, submission, "id")
    stored = solution.astype({"id": ids, "target": numbers, "cat": numbers, "black dog": "boolean"})
    assert score(stored, submission, "id") == expected
    assert score(solution, submission.astype({"id": ids, "prediction": numbers}), "id") == expected
    missing = submission["prediction"].mask(submission["id"] == 1000).astype(numbers)
    with pytest.raises(ParticipantVisibleError):
        score(solution, submission.assign(prediction=missing), "id")


def test_texts_are_read_as_in_a_file(solution, submission):
    expected = score(solution, submission, "id")
    texts = [f" {value!r}\t" for value in submission["prediction"].tolist()]
    assert score(solution, submission.assign(prediction=texts), "id") == expected
    decimals = submission.assign(id=submission["id"].astype(str) + ".0")
    assert score(solution, decimals, "id") == expected
    assert score(solution.assign(id=decimals["id"]), submission, "id") == expected


def with_cell(frame, column, value):
    """Return a frame with another value in a column's first row."""
    column_type = object if isinstance(value, str) else float
    return frame.assign(**{column: [value, *frame[column].astype(column_type)[1:]]})


def with_first(frame, value):
    """Return a frame whose first prediction is replaced."""
    predictions = [value, *frame["prediction"].astype(str)[1:]]
    return frame.assign(prediction=pd.Series(predictions, frame.index, dtype=object))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda frame: frame.drop(columns="prediction"),
        lambda frame: frame.iloc[1:],
        lambda frame: pd.concat([frame, frame.iloc[:2]]),
        lambda frame: frame.assign(id=frame["id"] + 7),
        lambda frame: with_first(frame, "1_0"),
        lambda frame: with_first(frame, "\ud800"),
        lambda frame: with_first(frame, [0.5]),
        lambda frame: with_first(frame, True),
        lambda frame: frame.assign(prediction=True),
        lambda frame: pd.concat([frame, frame[["prediction"]]], axis=1),
    ],
)
def test_error_in_the_submission_is_shown_to_the_participant(solution, submission, spoil):
    with pytest.raises(ParticipantVisibleError) as rejected:
        score(solution, spoil(submission), "id")
    assert rejected.value.message == str(rejected.value)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda frame: frame.drop(columns="target"), "no column has the role label"),
        (lambda frame: frame.assign(label=1), "several columns may have the role label"),
        (lambda frame: frame.drop(columns="id"), "missing column 'id'"),
        (lambda frame: frame.assign(id=1), "already occurs"),
        (lambda frame: frame.assign(cat=0), "subgroup_auc of cat is undefined"),
        (lambda frame: with_cell(frame, "cat", 1 + 1e-9), "expected a number from 0 to 1 or a blank"),
        (lambda frame: with_cell(frame, "target", 2), "expected a number from 0 to 1"),
        (lambda frame: with_cell(frame, "target", None), "is blank"),
    ],
)
def test_error_in_the_solution_is_not_shown_to_the_participant(solution, submission, spoil, message):
    with pytest.raises(ValueError, match=message):
        score(spoil(solution), submission, "id")


def test_only_the_named_identities_are_read(solution, submission):
    more = solution.assign(text="words", length=7)
    named = {"identities": ["cat", "black dog"]}
    assert score(more, submission, "id", **named) == score(solution, submission, "id")
    with pytest.raises(ValueError, match="no column 'pig' and 'cow'"):
        score(solution, submission, "id", identities=["pig", "cow", "cat"])
