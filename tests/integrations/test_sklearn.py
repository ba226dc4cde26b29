"""Scorers in scikit-learn's own tools, compared with `bias_report` on the rows of each fold."""

import pickle
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fairboard import MetricSettings, bias_report
from fairboard.sklearn import bias_scorer
from grader.metrics.bias.report_tables import flat

FOLDS = StratifiedKFold(3)
VALUES = ("score", "overall_auc", "mean_bnsp_auc", "subgroup_auc/cat", "bpsn_auc/dog", "negative_aeg/cat")
RNG = np.random.default_rng(7)
SUBGROUPS = pd.DataFrame(RNG.random((240, 2)) < 0.4, columns=["cat", "dog"], index=range(1000, 1240))
X = pd.DataFrame(RNG.normal(size=(240, 2)), columns=["a", "b"])
Y = (X["a"] + SUBGROUPS["cat"].to_numpy() + RNG.normal(size=240) > 0.5).to_numpy().astype(int)


@pytest.fixture
def _routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def of_folds(value: str, response: str, settings: MetricSettings | None = None) -> list[float]:
    """Return the value of each fold, computed without a scorer."""
    found = []
    for train, test in FOLDS.split(X, Y):
        model = LogisticRegression().fit(X.iloc[train], Y[train])
        predictions = getattr(model, response)(X.iloc[test])
        predictions = predictions[:, 1] if response == "predict_proba" else predictions
        report = bias_report(Y[test], predictions, SUBGROUPS.iloc[test], settings=settings)
        found.append(flat(report)[value])
    return [-abs(each) for each in found] if "_aeg/" in value else found


@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("response", ["decision_function", "predict_proba"])
def test_cross_validation_passes_each_fold_its_own_rows_of_the_subgroups(value: str, response: str):
    settings = MetricSettings(power=-2)
    scorer = bias_scorer(value, response_method=response, settings=settings)
    options = {"cv": FOLDS, "params": {"subgroups": SUBGROUPS}}
    told = cross_validate(LogisticRegression(), X, Y, scoring=scorer, **options)
    assert told["test_score"].tolist() == of_folds(value, response, settings)


@pytest.mark.usefixtures("_routing")
def test_grid_search_selects_by_a_routed_score_among_several():
    scoring = {value: bias_scorer(value) for value in VALUES}
    search = GridSearchCV(LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=scoring, refit="score", cv=FOLDS)
    search.fit(X, Y, subgroups=SUBGROUPS)
    for value in VALUES:
        of_second = [search.cv_results_[f"split{fold}_test_{value}"][1] for fold in range(3)]
        assert of_second == of_folds(value, "decision_function")
    assert search.score(X, Y, subgroups=SUBGROUPS) == pytest.approx(search.best_score_, abs=0.1)
    assert "_score" in repr(scoring["score"])


@pytest.mark.usefixtures("_routing")
def test_a_request_for_weights_keeps_the_request_for_subgroups():
    weights = RNG.integers(1, 4, 240)
    scorer = pickle.loads(pickle.dumps(bias_scorer().set_score_request(sample_weight=True)))
    params = {"subgroups": SUBGROUPS, "sample_weight": weights}
    model = LogisticRegression().set_fit_request(sample_weight=False)
    scores = cross_validate(model, X, Y, scoring=scorer, cv=FOLDS, params=params)["test_score"]
    for score, (train, test) in zip(scores, FOLDS.split(X, Y), strict=True):
        predictions = LogisticRegression().fit(X.iloc[train], Y[train]).decision_function(X.iloc[test])
        report = bias_report(Y[test], predictions, SUBGROUPS.iloc[test], sample_weight=weights[test])
        assert score == report.score
    without = bias_scorer().set_score_request(subgroups=False)
    assert without.get_metadata_routing().score.requests == {"subgroups": False}


@pytest.mark.parametrize("routing", [False, True])
def test_columns_of_x_need_no_routing(routing: bool):
    table = X.assign(cat=SUBGROUPS["cat"].to_numpy(), dog=SUBGROUPS["dog"].to_numpy())
    scaled = ColumnTransformer([("numbers", StandardScaler(), ["a", "b"])])
    scorer = pickle.loads(pickle.dumps(bias_scorer(columns=["cat", "dog"])))
    with sklearn.config_context(enable_metadata_routing=routing):
        model = make_pipeline(scaled, LogisticRegression())
        told = cross_validate(model, table, Y, scoring={"bias": scorer, "auc": "roc_auc"}, cv=FOLDS)
        search = GridSearchCV(model, {"logisticregression__C": [1.0]}, scoring=scorer, cv=FOLDS).fit(table, Y)
    assert told["test_bias"] == pytest.approx(of_folds("score", "decision_function"), abs=1e-3)
    assert search.best_score_ == told["test_bias"].mean()


@pytest.mark.parametrize("value", ["score", "mean_bnsp_auc", "bnsp_auc/cat"])
def test_an_undefined_fold_is_nan_with_a_warning_that_contains_the_reason(value: str):
    table = X.assign(cat=np.arange(240) < 80)
    scorer = bias_scorer(value, columns=["cat"])
    model = LogisticRegression().fit(table[["a", "b", "cat"]], Y)
    with pytest.warns(UndefinedMetricWarning, match=r"bnsp_auc of cat is undefined: there are no positive"):
        assert np.isnan(scorer(model, table[100:], Y[100:]))
    assert bias_scorer("overall_auc", columns=["cat"])(model, table[100:], Y[100:]) > 0.5


def test_warning_about_a_cell_contains_only_its_own_reason():
    table = X.assign(cat=np.arange(240) < 80, dog=False)
    scorer = bias_scorer("bnsp_auc/cat", columns=["cat", "dog"])
    model = LogisticRegression().fit(table, Y)
    with pytest.warns(UndefinedMetricWarning) as caught:
        scorer(model, table[100:], Y[100:])
    assert str(caught[0].message).count("undefined") == 1


def test_one_name_is_a_column_of_categories():
    table = X.assign(pet=np.where(SUBGROUPS["cat"], "cat", "other"))
    model = make_pipeline(ColumnTransformer([("numbers", "passthrough", ["a", "b"])]), LogisticRegression())
    scorer = bias_scorer("bpsn_auc/cat", columns="pet")
    expected = bias_report(Y, model.fit(table, Y).decision_function(table), SUBGROUPS["cat"].to_frame())
    assert scorer(model, table, Y) == flat(expected)["bpsn_auc/cat"]


@pytest.mark.usefixtures("_routing")
def test_sample_weights_can_be_routed_to_the_report():
    weights, model = RNG.random(240), LogisticRegression().fit(X, Y)
    scorer = bias_scorer().set_score_request(sample_weight=True)
    predictions = model.decision_function(X)
    expected = bias_report(Y, predictions, SUBGROUPS, sample_weight=weights).score
    assert scorer(model, X, Y, subgroups=SUBGROUPS, sample_weight=weights) == expected


def test_wrong_arguments_are_rejected_with_the_expected_ones():
    for value in ("auc", "positive_aeg", "overall_auc/cat"):
        with pytest.raises(ValueError, match=r"`value` must be score.* such as bpsn_auc/cat; not '"):
            bias_scorer(value)
    with pytest.raises(RuntimeError, match="enable_metadata_routing=True"):
        bias_scorer()
    model = LogisticRegression().fit(X, Y)
    with pytest.raises(ValueError, match="`data` has no column 'cat' or 'dog'"):
        bias_scorer(columns=["cat", "dog"])(model, X, Y)
    with pytest.raises(ValueError, match="`subgroups` has no identity fish in this fold"):
        bias_scorer("bpsn_auc/fish", columns=["a"])(model, X, Y)


@pytest.mark.usefixtures("_routing")
def test_a_dictionary_is_rejected_because_scikit_learn_does_not_split_it():
    mapping = {name: SUBGROUPS[name].to_numpy() for name in SUBGROUPS}
    with pytest.raises(ValueError, match=r"`subgroups\['cat'\]` must have 80 values, not 240"):
        cross_validate(
            LogisticRegression(),
            X,
            Y,
            scoring=bias_scorer(),
            cv=FOLDS,
            params={"subgroups": mapping},
            error_score="raise",
        )


@pytest.mark.usefixtures("_routing")
@pytest.mark.parametrize("response", ["decision_function", "predict_proba"])
def test_text_labels_and_one_column_of_categories_are_accepted(response: str):
    words = np.where(Y == 1, "bad", "good")  # the positive label is the first class
    pets = np.where(SUBGROUPS["cat"], "cat", "other")
    scorer = bias_scorer("bpsn_auc/cat", response_method=response, positive="bad")
    told = cross_validate(
        LogisticRegression(), X, words, scoring=scorer, cv=FOLDS, params={"subgroups": pets}
    )
    expected = of_folds("bpsn_auc/cat", "decision_function")
    assert told["test_score"] == pytest.approx(expected, abs=1e-3)
