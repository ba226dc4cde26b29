"""`BiasFrame` compared with fairlearn's `MetricFrame` on groups that do not overlap."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from sklearn.metrics import roc_auc_score

from fairboard.fairlearn import BiasFrame

RNG = np.random.default_rng(5)
Y_TRUE = RNG.integers(0, 2, 500)
Y_PRED = RNG.random(500).round(2) + 0.2 * Y_TRUE
WORDS = RNG.choice(["x", "y", "z"], 500)
FEATURES = {
    "array": WORDS,
    "list": WORDS.tolist(),
    "series": pd.Series(WORDS, name="pet"),
    "numbers": np.searchsorted(["x", "y", "z"], WORDS),
    "booleans": pd.Series(WORDS == "x", name="is_x"),
}


@pytest.mark.parametrize("kind", FEATURES)
def test_subgroup_auc_equals_the_roc_auc_in_a_metric_frame(kind: str):
    arguments = {"y_true": Y_TRUE, "y_pred": Y_PRED, "sensitive_features": FEATURES[kind]}
    ours = BiasFrame(metrics="subgroup_auc", **arguments)
    theirs = MetricFrame(metrics=roc_auc_score, **arguments)
    assert list(ours.by_group.index) == list(theirs.by_group.index)
    assert ours.by_group.to_numpy() == pytest.approx(theirs.by_group.to_numpy().astype(float), abs=1e-12)
    assert ours.overall == pytest.approx(theirs.overall, abs=1e-12)
    assert ours.group_min() == pytest.approx(theirs.group_min(), abs=1e-12)
    assert ours.group_max() == pytest.approx(theirs.group_max(), abs=1e-12)
    for method in ("between_groups", "to_overall"):
        assert ours.difference(method) == pytest.approx(theirs.difference(method), abs=1e-12)
        assert ours.ratio(method=method) == pytest.approx(theirs.ratio(method=method), abs=1e-12)


@pytest.mark.parametrize("metrics", ["subgroup_auc", ["subgroup_auc"]], ids=["one", "several"])
def test_control_features_give_the_results_of_a_metric_frame(metrics):
    control = pd.Series(np.where(Y_PRED > 0.5, "high", "low"), name="level")[RNG.permutation(500)].to_numpy()
    arguments = {
        "y_true": Y_TRUE,
        "y_pred": Y_PRED,
        "sensitive_features": FEATURES["series"],
        "control_features": control,
    }
    ours = BiasFrame(metrics=metrics, **arguments)
    named = roc_auc_score if metrics == "subgroup_auc" else {"subgroup_auc": roc_auc_score}
    theirs = MetricFrame(metrics=named, **arguments)
    results = [(ours.by_group, theirs.by_group), (ours.overall, theirs.overall)]
    results += [(getattr(ours, name)(), getattr(theirs, name)()) for name in ("group_min", "group_max")]
    for method in ("between_groups", "to_overall"):
        results += [
            (getattr(ours, name)(method), getattr(theirs, name)(method)) for name in ("difference", "ratio")
        ]
    for one, other in results:
        assert (type(one), one.index.tolist()) == (type(other), other.index.tolist())
        assert one.to_numpy() == pytest.approx(other.to_numpy().astype(float), abs=1e-12)


def test_several_metrics_have_the_shapes_of_a_metric_frame():
    arguments = {"y_true": Y_TRUE, "y_pred": Y_PRED, "sensitive_features": FEATURES["series"]}
    ours = BiasFrame(metrics=["subgroup_auc", "bpsn_auc"], **arguments)
    theirs = MetricFrame(metrics={"subgroup_auc": roc_auc_score, "bpsn_auc": roc_auc_score}, **arguments)
    one, other = ours.by_group, theirs.by_group
    assert (type(one), one.shape, one.index.tolist()) == (type(other), other.shape, other.index.tolist())
    assert (type(ours.overall), ours.overall.index.tolist()) == (type(theirs.overall), ["overall_auc"])
    assert ours.overall["overall_auc"] == pytest.approx(theirs.overall["bpsn_auc"], abs=1e-12)
    assert ours.by_group.index.name == theirs.by_group.index.name == "pet"
    assert ours.difference().index.tolist() == theirs.difference().index.tolist()


def test_a_metric_frame_passes_no_background_rows_so_it_cannot_compute_bpsn():
    seen = []

    def record(y_true, y_pred):
        seen.append(len(y_true))
        return 0.0

    frame = MetricFrame(metrics=record, y_true=Y_TRUE, y_pred=Y_PRED, sensitive_features=WORDS)
    assert frame.by_group.size == 3
    assert set(seen) == {500, *np.unique(WORDS, return_counts=True)[1]}
    ours = BiasFrame(metrics="bpsn_auc", y_true=Y_TRUE, y_pred=Y_PRED, sensitive_features=WORDS)
    for word in "xyz":
        chosen = (word != WORDS) == (Y_TRUE == 1)  # background positives and subgroup negatives
        assert ours.by_group[word] == pytest.approx(roc_auc_score(Y_TRUE[chosen], Y_PRED[chosen]), abs=1e-12)


def test_a_metric_frame_splits_overlapping_columns_into_disjoint_intersections():
    groups = pd.DataFrame({"cat": WORDS != "x", "dog": WORDS != "y"})
    theirs = MetricFrame(metrics=roc_auc_score, y_true=Y_TRUE, y_pred=Y_PRED, sensitive_features=groups)
    ours = BiasFrame(metrics="subgroup_auc", y_true=Y_TRUE, y_pred=Y_PRED, sensitive_features=groups)
    assert theirs.by_group.index.nlevels == 2
    chosen = groups["cat"].to_numpy()
    assert ours.by_group["cat"] == pytest.approx(roc_auc_score(Y_TRUE[chosen], Y_PRED[chosen]), abs=1e-12)
