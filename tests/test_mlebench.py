"""MLE-bench interface: the same scores as the metric, without thresholding predictions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from grader.kaggle import ParticipantVisibleError, score
from grader.metrics import bias_report
from grader.mlebench import IDENTITIES, grade


@pytest.fixture
def answers() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    mentioned = {name: np.where(rng.random(4000) < 0.3, rng.random(4000), np.nan) for name in IDENTITIES}
    return pd.DataFrame({"id": rng.permutation(4000), "toxicity": rng.random(4000) ** 2} | mentioned)


@pytest.fixture
def submission(answers: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    logits = 4 * (answers["toxicity"] - 0.9) + rng.normal(0, 1, len(answers))
    return pd.DataFrame({"id": answers["id"], "prediction": 1 / (1 + np.exp(-logits))})


def with_scikit_learn(predictions: pd.Series, answers: pd.DataFrame) -> float:
    """Compute the competition's score of ordered predictions with scikit-learn."""
    label = answers["toxicity"] >= 0.5
    terms = [roc_auc_score(label, predictions)]
    inside = [answers[name] >= 0.5 for name in IDENTITIES]
    for chosen in (lambda m: m, lambda m: m != label, lambda m: m == label):
        aucs = np.array([roc_auc_score(label[chosen(m)], predictions[chosen(m)]) for m in inside])
        terms.append(np.mean(aucs**-5.0) ** (-1 / 5))
    return float(np.mean(terms))


def test_grade_equals_the_librarys_score(submission: pd.DataFrame, answers: pd.DataFrame):
    report = bias_report(
        answers["toxicity"], submission["prediction"], {name: answers[name] for name in IDENTITIES}
    )
    assert grade(submission, answers) == report.score
    assert grade(submission, answers) == score(answers, submission, "id", label="toxicity")
    assert grade(submission.sample(frac=1, random_state=1), answers) == report.score


def test_grade_is_the_competitions_formula_and_not_that_of_thresholds(
    submission: pd.DataFrame, answers: pd.DataFrame
):
    rounded = (submission["prediction"] >= 0.5).astype(float)
    found = grade(submission, answers)
    assert found == pytest.approx(with_scikit_learn(submission["prediction"], answers), abs=1e-12)
    thresholded = with_scikit_learn(rounded, answers)  # MLE-bench's own grader returns this value.
    assert found - thresholded > 0.1
    assert grade(submission.assign(prediction=rounded), answers) == pytest.approx(thresholded, abs=1e-12)


def test_answers_grade_themselves_with_1_and_are_not_changed(answers: pd.DataFrame):
    before = answers.copy()
    assert grade(answers, answers) == 1
    pd.testing.assert_frame_equal(answers, before)


def test_invalid_submission_is_the_participants_error(submission: pd.DataFrame, answers: pd.DataFrame):
    with pytest.raises(ParticipantVisibleError, match="Missing from the submission: 1 id"):
        grade(submission[1:], answers)
    with pytest.raises(ParticipantVisibleError, match="no column `prediction`"):
        grade(submission[["id"]], answers)
    with pytest.raises(ValueError, match=r"no column .muslim."):
        grade(submission, answers.drop(columns="muslim"))
