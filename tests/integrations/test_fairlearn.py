"""`BiasFrame` without fairlearn: groups that overlap, shapes of arguments, undefined cells."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from fairboard import bias_report
from fairboard.fairlearn import BiasFrame
from grader.metrics.bias.subgroups import CELLS

RNG = np.random.default_rng(11)
Y_TRUE, Y_PRED = RNG.random(300) < 0.4, RNG.random(300).round(2)
GROUPS = {"cat": RNG.random(300), "dog": RNG.random(300) < 0.3}
ROWS = {"y_true": Y_TRUE, "y_pred": Y_PRED}


@pytest.mark.parametrize(
    "features",
    [
        GROUPS,
        pd.DataFrame(GROUPS, index=range(300, 0, -1)),
        pd.DataFrame(GROUPS).convert_dtypes(),
        pl.DataFrame(GROUPS),
        pl.LazyFrame(GROUPS),
        pa.table(GROUPS),
    ],
    ids=type,
)
def test_overlapping_groups_have_the_cells_of_the_bias_report(features):
    frame = BiasFrame(**ROWS, sensitive_features=features)
    report = bias_report(Y_TRUE, Y_PRED, GROUPS)
    assert frame.report == report
    assert list(frame.by_group.columns) == list(CELLS)
    for each in report.subgroups:
        assert frame.by_group.loc[each.name].tolist() == [getattr(each, cell) for cell in CELLS]
    assert frame.overall.to_dict() == {
        "overall_auc": report.overall_auc,
        "positive_aeg": 0,
        "negative_aeg": 0,
    }


def test_aggregates_are_those_of_the_table():
    frame = BiasFrame(metrics=["bpsn_auc", "positive_aeg"], **ROWS, sensitive_features=GROUPS)
    table, overall = frame.by_group, frame.overall
    assert frame.group_min().equals(table.min())
    assert frame.group_max().equals(table.max())
    assert frame.difference().equals(table.max() - table.min())
    assert overall.to_dict() == {"overall_auc": frame.report.overall_auc, "positive_aeg": 0}
    expected = (table - overall.set_axis(table.columns)).abs().max()
    assert frame.difference(method="to_overall").equals(expected)
    assert frame.ratio()["bpsn_auc"] == table["bpsn_auc"].min() / table["bpsn_auc"].max()
    quotients = table["bpsn_auc"] / overall["overall_auc"]
    assert frame.ratio("to_overall")["bpsn_auc"] == np.minimum(quotients, 1 / quotients).min()
    assert frame.ratio()[["positive_aeg"]].isna().all()


@pytest.mark.parametrize(
    "kind", [list, np.array, pd.Series, lambda words: pd.Series(words, dtype="category")]
)
def test_each_value_of_one_feature_is_a_group(kind):
    words = RNG.choice(["x", "y", "z"], 300).tolist()
    frame = BiasFrame(metrics="bnsp_auc", **ROWS, sensitive_features=kind(words))
    report = bias_report(Y_TRUE, Y_PRED, {word: np.array(words) == word for word in "xyz"})
    assert frame.by_group.to_dict() == {each.name: each.bnsp_auc for each in report.subgroups}
    assert frame.overall == report.overall_auc
    assert frame.difference() == frame.group_max() - frame.group_min()


def test_text_columns_of_a_frame_have_a_group_per_value():
    features = pd.DataFrame({"dog": GROUPS["dog"], "sex": np.where(GROUPS["cat"] > 0.5, "F", None)})
    frame = BiasFrame(**ROWS, sensitive_features=features)
    assert list(frame.by_group.index) == ["dog", "sex_F"]
    assert frame.report.subgroups[1].size == (GROUPS["cat"] > 0.5).sum()


def test_blanks_are_not_mentioned_in_columns_of_booleans_and_numbers():
    dogs = [None if place < 9 else bool(dog) for place, dog in enumerate(GROUPS["dog"])]
    cats = np.ma.MaskedArray(GROUPS["cat"], GROUPS["dog"])
    frame = BiasFrame(**ROWS, sensitive_features={"dog": dogs, "cat": cats})
    expected = {"dog": [bool(dog) for dog in dogs], "cat": cats.filled(0)}
    assert frame.report == bias_report(Y_TRUE, Y_PRED, expected)


def test_columns_of_a_matrix_are_groups():
    features = np.column_stack([GROUPS["cat"], GROUPS["dog"]])
    expected = bias_report(Y_TRUE, Y_PRED, features)
    assert BiasFrame(**ROWS, sensitive_features=features).report == expected
    assert BiasFrame(**ROWS, sensitive_features=features.tolist()).report == expected
    words = np.where(features > 0.5, "F", "M")
    assert list(BiasFrame(**ROWS, sensitive_features=words).by_group.index) == ["0_F", "0_M", "1_F", "1_M"]


@pytest.mark.parametrize("metrics", ["bpsn_auc", ["bpsn_auc", "negative_aeg"]], ids=["one", "several"])
def test_control_features_restrict_every_result_to_their_rows(metrics):
    control = RNG.choice(["long", "short"], 300)
    arguments = {"metrics": metrics, **ROWS, "sensitive_features": GROUPS}
    frame = BiasFrame(**arguments, control_features=pd.Series(control, index=range(300, 0, -1)))
    for level in ("long", "short"):
        rows = control == level
        alone = BiasFrame(
            metrics=metrics,
            y_true=Y_TRUE[rows],
            y_pred=Y_PRED[rows],
            sensitive_features={name: values[rows] for name, values in GROUPS.items()},
        )
        assert frame.report[level] == alone.report
        for name in ("by_group", "overall"):
            assert np.array_equal(getattr(frame, name).loc[level], getattr(alone, name))
        for method in ("group_min", "group_max", "difference", "ratio"):
            found, expected = getattr(frame, method)().loc[level], getattr(alone, method)()
            assert np.array_equal(found, expected, equal_nan=True)
    with pytest.raises(ValueError, match="`control_features` must have 300 values, not 299"):
        BiasFrame(**arguments, control_features=control[1:])
    with pytest.raises(ValueError, match="`control_features` must be without missing values, but 1 of 300"):
        BiasFrame(**arguments, control_features=[np.nan, *control.tolist()[1:]])


def test_an_undefined_cell_is_nan_and_has_a_reason():
    frame = BiasFrame(
        metrics="bpsn_auc", **ROWS, sensitive_features={"all": np.ones(300), "dog": GROUPS["dog"]}
    )
    assert np.isnan(frame.by_group["all"])
    assert frame.group_min() == frame.group_max() == frame.by_group["dog"]
    assert "bpsn_auc of all is undefined" in " ".join(map(str, frame.report.undefined))


def test_wrong_arguments_are_rejected():
    with pytest.raises(ValueError, match=r"`metrics` must be of subgroup_auc, .*, not 'recall'"):
        BiasFrame(metrics="recall", **ROWS, sensitive_features=GROUPS)
    with pytest.raises(ValueError, match=r"values outside \[0, 1\] in age"):
        BiasFrame(**ROWS, sensitive_features={"age": np.arange(300)})
    with pytest.raises(
        ValueError, match="columns of `sensitive_features` have different lengths: 299 and 300"
    ):
        BiasFrame(**ROWS, sensitive_features={"cat": GROUPS["cat"], "dog": GROUPS["dog"][1:]})
    with pytest.raises(ValueError, match="more than once: a_b"):
        BiasFrame(**ROWS, sensitive_features={"a": ["b"] * 300, "a_b": GROUPS["dog"]})
    frame = BiasFrame(**ROWS, sensitive_features=GROUPS)
    for aggregate in (frame.difference, frame.ratio):
        with pytest.raises(ValueError, match=r"'between_groups' or 'to_overall', not 'to_all'"):
            aggregate("to_all")
