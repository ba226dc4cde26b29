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
    assert score(solution.rename(columns={"cat": 5}), submission, "id") == report.score


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


@pytest.mark.parametrize("ids", ["str", "category", "Int64", "float64"])
@pytest.mark.parametrize("numbers", ["Float64", "object", "category"])
def test_score_is_the_same_for_every_type_of_column(solution, submission, ids, numbers):
    expected = score(solution, submission, "id")
    stored = solution.astype({"id": ids, "target": numbers, "cat": numbers, "black dog": "boolean"})
    assert score(stored, submission, "id") == expected
    assert score(solution, submission.astype({"id": ids, "prediction": numbers}), "id") == expected


def test_texts_are_read_as_in_a_file(solution, submission):
    expected = score(solution, submission, "id")
    texts = [f" {value!r}\t" for value in submission["prediction"].tolist()]
    assert score(solution, submission.assign(prediction=texts), "id") == expected
    decimals = submission.assign(id=submission["id"].astype(str) + ".0")
    assert score(solution, decimals, "id") == expected
    assert score(solution.assign(id=decimals["id"]), submission, "id") == expected


def with_first(frame, column, value):
    """Return a frame with another value in a column's first row."""
    return frame.assign(**{column: pd.Series([value, *frame[column][1:]], frame.index, dtype=object)})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda frame: frame.drop(columns="prediction"),
        lambda frame: frame.iloc[1:],
        lambda frame: pd.concat([frame, frame.iloc[:2]]),
        *(
            lambda frame, value=value: with_first(frame, "prediction", value)
            for value in ("\ud800", [0.5], True)
        ),
        lambda frame: pd.concat([frame, frame[["prediction"]]], axis=1),
    ],
)
def test_error_in_the_submission_is_shown_to_the_participant(solution, submission, spoil):
    with pytest.raises(ParticipantVisibleError) as rejected:
        score(solution, spoil(submission), "id")
    assert rejected.value.message == str(rejected.value)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda frame: frame.drop(columns="target"),
        lambda frame: frame.assign(label=1),
        lambda frame: frame.assign(cat=0),
        lambda frame: with_first(frame, "cat", 1 + 1e-9),
        lambda frame: frame.assign(text="words"),
    ],
)
def test_error_in_the_solution_is_not_shown_to_the_participant(solution, submission, spoil):
    with pytest.raises(ValueError, match=r"\w"):
        score(spoil(solution), submission, "id")


def test_ids_are_not_accepted_as_predictions(solution, submission):
    with pytest.raises(ValueError, match="ids cannot be"):
        score(solution, submission, "id", prediction="id")


def test_only_the_named_identities_are_read(solution, submission):
    more = solution.assign(text="words", length=7)
    named = {"identities": ["cat", "black dog"]}
    assert score(more, submission, "id", **named) == score(solution, submission, "id")
