"""The public function for all metrics, and the library in a folder of a course."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fairboard
from fairboard.interface import UnsuitablePredictions, UnsuitableTruth


@pytest.mark.parametrize(
    ("name", "y_true", "y_score", "value"),
    [
        ("roc_auc", [0, 1, 1], [0.1, 0.9, 0.1], 0.75),
        ("accuracy", ["ham", "spam"], ["ham", "ham"], 0.5),
        ("quadratic_kappa", [1, 2, 3], [1, 2, 3], 1),
        ("map_at_k", [["a"], ["b", "c"]], [["b", "a"], ["c", "b"]], 0.75),
        ("mean_rmse", {"a": [1, 2], "b": [0, 0]}, {"a": [1, 2], "b": [3, 3]}, 1.5),
        ("multi_class_log_loss", ["x", "y"], {"x": [1, 0.5], "y": [1, 0.5]}, np.log(2)),
    ],
)
def test_values_of_every_kind_have_a_score(name, y_true, y_score, value):
    assert fairboard.score(name, y_true, y_score).score == pytest.approx(value)


def test_groups_and_identities_have_values():
    cities = {"city": pd.Series(["Rome", "Rome", "Oslo", "", None, np.nan], dtype=object)}
    found = fairboard.score("rmse", [1, 2, 3, 4, 4, 4], [1, 2, 5, 5, 5, 5], groups=cities)
    assert found.groups["city"] == {"Rome": {"rows": 2, "score": 0.0}, "Oslo": {"rows": 1, "score": 2.0}}
    assert found.to_frame()["value"].tolist() == [found.score, 2.0, 0.0]
    labels, predictions, cat = [1, 0, 1, 0], [0.9, 0.3, 0.4, 0.5], {"cat": [1, 1, None, 0]}
    settings = fairboard.MetricSettings(undefined="skip")
    report = fairboard.bias_report(labels, predictions, cat, settings=settings)
    scored = fairboard.score("bias", labels, predictions, groups=cat, settings=settings)
    assert (scored.score, scored.terms["bpsn_auc"]) == (report.score, report.power_means["bpsn_auc"])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("unknown", [1], [1]), ValueError),
        (("log_loss", [0, 1], [0.5, 1.5]), ValueError),
        (("accuracy", ["ham", "spam"], ["ham", "eggs"]), ValueError),
        (("accuracy", ["ham", None], ["ham", "None"]), ValueError),
        (("accuracy", ["ham", pd.NA], ["ham", "<NA>"]), ValueError),
        (("map_at_k", ["ab"], ["ab"]), ValueError),
        (("mean_rmse", {"a": [1]}, {"b": [1]}), ValueError),
        (("roc_auc", [1, 1], [0.5, 0.6]), UnsuitableTruth),
        (("multi_class_log_loss", ["a", "b"], {"a": [0, 1], "b": [0, 1]}), UnsuitablePredictions),
    ],
)
def test_values_without_a_score_are_rejected(arguments, error):
    with pytest.raises(error):
        fairboard.score(*arguments)
    with pytest.raises(ValueError, match="equally many values, not 1 and 2"):
        fairboard.score("rmse", [1, 2], [1])


def test_the_library_works_next_to_a_file_called_grader(tmp_path):
    (tmp_path / "grader.py").write_text("raise SystemExit('imported')")
    code = "import fairboard; print(fairboard.__version__, fairboard.score('mae', [1], [3]).score)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [fairboard.__version__, "2.0"]
