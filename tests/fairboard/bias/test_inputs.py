"""Accepted data structures and error messages of the high-level functions."""

import datetime

import numpy as np
import pandas as pd
import pytest

from fairboard import MetricSettings, bias_report, identities_from_text

LABELS = [1, 0, 1, 0, 1, 0, 1, 0]
SCORES = [0.9, 0.3, 0.4, 0.2, 0.8, 0.8, 0.1, 0.6]
CAT = [1, 1, None, 0, 1, 0, 1, None]
DOG = [0, 0, 1, 1, 1, None, 0, 1]
TOPIC = ["cat", "dog", None, "cat", "dog", "cat", None, "cat"]
TRUTH = [label == 1 for label in LABELS]
TEXTS = ["toxic" if label else "fine" for label in LABELS]
COLUMNS = {"y": LABELS, "s": SCORES, "cat": CAT, "dog": DOG, "topic": TOPIC, "truth": TRUTH, "text": TEXTS}


def mentions(values: list[int | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


EXPECTED = bias_report(np.array(LABELS), np.array(SCORES), {"cat": mentions(CAT), "dog": mentions(DOG)})
BY_TOPIC = bias_report(LABELS, SCORES, {name: [topic == name for topic in TOPIC] for name in ("cat", "dog")})


SEQUENCES = {
    "list": list,
    "list with NaN": lambda values: [np.nan if value is None else value for value in values],
    "list with NA": lambda values: [pd.NA if value is None else value for value in values],
    "tuple": tuple,
    "numpy": lambda values: np.array(values, dtype=object),
    "pandas": lambda values: pd.Series(values, index=range(8, 0, -1)),
    "pandas object": lambda values: pd.Series(values, dtype=object),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pandas categorical": lambda values: pd.Series(values, dtype="category"),
}
FRAMES = {
    "dict": dict,
    "pandas": lambda columns: pd.DataFrame(columns).set_index("s", drop=False),
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
}


@pytest.mark.parametrize("make", SEQUENCES.values(), ids=SEQUENCES)
def test_report_does_not_depend_on_the_type_of_the_columns(make):
    identities = {"cat": make(CAT), "dog": make(DOG)}
    assert bias_report(make(LABELS), make(SCORES), identities) == EXPECTED
    assert bias_report(make(TRUTH), make(SCORES), identities) == EXPECTED
    assert bias_report(make(TEXTS), make(SCORES), identities, positive="toxic") == EXPECTED
    assert bias_report(make(LABELS), make(SCORES), make(TOPIC)) == BY_TOPIC
    booleans = {name: make([None if v is None else bool(v) for v in COLUMNS[name]]) for name in identities}
    assert bias_report(make(LABELS), make(SCORES), booleans) == EXPECTED


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_report_does_not_depend_on_the_type_of_the_data_frame(make):
    frame = make(COLUMNS)
    names = {"y_true": "y", "y_score": "s", "data": frame}
    assert bias_report(**names, subgroups=["cat", "dog"]) == EXPECTED
    assert bias_report(**names, subgroups={"cat": "cat", "dog": DOG}) == EXPECTED
    assert bias_report(**names | {"y_score": SCORES, "y_true": "truth"}, subgroups=("cat", "dog")) == EXPECTED
    assert bias_report(**names | {"y_true": "text"}, subgroups=["cat", "dog"], positive="toxic") == EXPECTED
    assert bias_report(**names, subgroups="topic") == BY_TOPIC
    assert bias_report(LABELS, SCORES, make({"s": DOG, "cat": CAT})).subgroups[1] == EXPECTED.subgroups[0]


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda rows: pd.DataFrame(rows).convert_dtypes().to_numpy(),
    ],
    ids=["lists", "array", "objects with NA"],
)
def test_columns_of_a_two_dimensional_array_are_named_by_their_numbers(make):
    report = bias_report(
        LABELS, SCORES, make([list(row) for row in zip(mentions(CAT), mentions(DOG), strict=True)])
    )
    assert [subgroup.name for subgroup in report.subgroups] == ["0", "1"]
    assert [subgroup.bpsn_auc for subgroup in report.subgroups] == [
        subgroup.bpsn_auc for subgroup in EXPECTED.subgroups
    ]


def test_identity_in_the_score_may_be_one_name():
    identities = {"man": DOG, "woman": CAT}
    report = bias_report(LABELS, SCORES, identities, in_score="woman")
    assert report == bias_report(LABELS, SCORES, identities, in_score=["woman"])


def test_positive_label_replaces_the_threshold():
    def positives(labels: list[object], positive: object) -> int:
        return bias_report(labels, [0.5] * len(labels), {}, positive=positive).positives

    assert positives([1, 2, 2, 3], 2) == 2
    assert positives(["a", "a"], "b") == 0  # as in scikit-learn: one class only
    assert positives([True, False], False) == 1


def message(*arguments: object, **options: object) -> str:
    with pytest.raises((TypeError, ValueError)) as caught:
        bias_report(*arguments, **options)
    return str(caught.value)


FOUND = "`y_true` contains the labels"
ABOVE = "because all labels are at or above the label threshold 0.5"
BELOW = "because all labels are below the label threshold 0.5"
FIRST = "1 of 8 values are not; the first is at position 0."


@pytest.mark.parametrize(
    ("y_true", "positive", "expected"),
    [
        (TEXTS, None, f"`positive` is required; {FOUND} 'fine' and 'toxic'."),
        (TEXTS, "Toxic", f"`positive` is 'Toxic', which is not a label; {FOUND} 'fine' and 'toxic'."),
        (LABELS, "1", f"`positive` is '1', which is not a label; {FOUND} 0 and 1."),
        (list("abcdefgh"), None, f"`positive` is required; {FOUND} 'a', 'b', 'c', 'd', 'e' and 3 more."),
        ([None, *TEXTS[1:]], "toxic", f"`y_true` must be without missing values, but {FIRST}"),
        ([None, *LABELS[1:]], None, f"`y_true` must be finite, but {FIRST}"),
        ([datetime.date(2026, 1, 1)] * 8, None, "`y_true` must contain only numbers or booleans."),
        ("y", None, "`y_true` is the name of a column, which requires `data`."),
        (TEXTS, ["toxic"], f"`positive` is ['toxic'], which is not a label; {FOUND} 'fine' and 'toxic'."),
        ([pd.NA, *TEXTS[1:]], "toxic", f"`y_true` must be without missing values, but {FIRST}"),
        ([np.nan, *TEXTS[1:]], "toxic", f"`y_true` must be without missing values, but {FIRST}"),
        ([label + 1 for label in LABELS], None, f"`positive` is required {ABOVE}; {FOUND} 1 and 2."),
        (
            np.array([3.0, 1, 2, 3, 1, 1, 1, 1]),
            None,
            f"`positive` is required {ABOVE}; {FOUND} 1.0, 2.0 and 3.0.",
        ),
        ([label - 1 for label in LABELS], None, f"`positive` is required {BELOW}; {FOUND} -1 and 0."),
        ([np.nan, *[2] * 3, *[1] * 4], None, f"`y_true` must be finite, but {FIRST}"),
        ([[1], [1, 0]], None, "`y_true` must contain rows of equal length."),
        ([10**400] * 8, None, "`y_true` must contain only numbers or booleans."),
    ],
)
def test_invalid_labels_are_explained(y_true, positive, expected):
    assert message(y_true, SCORES, {}, positive=positive) == expected


@pytest.mark.parametrize(
    ("subgroups", "expected"),
    [
        (
            [0, 1, 0, 1, 0, 1, 0, 1],
            "`subgroups` must be a list of names (even of one), map names to arrays, or be a table",
        ),
        (["cat"], "`subgroups` must have 8 values, not 1."),
        ("topic", "`subgroups` is the name of a column, which requires `data`."),
        (None, "`subgroups` must be one-dimensional, not of shape ()."),
        (np.zeros((2, 8)), "`subgroups` must have shape (8, 8), not (2, 8)."),
        ({1: DOG, "1": CAT}, "`subgroups` contains identities more than once: 1."),
        ({"cat": TOPIC}, "`subgroups['cat']` must contain numbers or booleans, not object."),
    ],
)
def test_invalid_subgroups_are_explained(subgroups, expected):
    assert message(LABELS, SCORES, subgroups).startswith(expected)


def test_all_problems_are_reported_together():
    text = message("labels", [0.5, np.nan], ["cat", "cow", "pig"], data=COLUMNS, in_score=["hen"])
    assert text.splitlines() == [
        "`data` has no column 'labels' (in `y_true`).",
        "`data` has no column 'cow' or 'pig' (in `subgroups`).",
        "`y_score` must be finite, but 1 of 2 values are not; the first is at position 1.",
    ]
    text = message([np.nan, 1], [0.5, 1], [], in_score=["cat"])
    assert text.splitlines() == [
        "`subgroups` must have 2 values, not 0.",
        "`y_true` must be finite, but 1 of 2 values are not; the first is at position 0.",
    ]
    text = message(LABELS, [0.5, 1], {"cat": [1], "dog": [np.inf] * 8}, in_score=["hen"])
    assert text.splitlines() == [
        "`in_score` contains unknown identities: hen.",
        "`subgroups['cat']` must have 8 values, not 1.",
        "`subgroups['dog']` must be finite or blank, but 8 of 8 values are not; the first is at position 0.",
        "`y_score` must have 8 values, not 2.",
    ]


@pytest.mark.parametrize(
    ("subgroups", "expected"),
    [
        ({"a": "cow", "b": "pig", "c": CAT}, "`data` has no column 'cow' or 'pig' (in `subgroups`)."),
        (np.array(["x", "z"] * 4), "`data` has no column 'x' or 'z' (in `subgroups`)."),
        (range(8), "`data` has no column 0, 1, 2, 3, 4 or 3 more (in `subgroups`)."),
        (None, "`subgroups` must be one-dimensional, not of shape ()."),
    ],
)
def test_each_name_that_is_no_column_is_listed_once(subgroups, expected):
    assert message("y", "s", subgroups, data=COLUMNS) == expected


@pytest.mark.parametrize("labels", [[0.1, 0.2], [1, 1], [2, 2], [0.6, 1]])
def test_labels_of_one_class_are_undefined_without_an_error(labels: list[float]):
    assert bias_report(labels, [0.1, 0.2], {}).score is None


def test_label_threshold_may_separate_codes():
    settings = MetricSettings(label_threshold=2)
    assert bias_report([1, 2], [0.1, 0.2], {}, settings=settings).overall_auc == 1
    assert bias_report([2, 3], [0.1, 0.2], {}, settings=settings).positives == 2


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_texts_in_a_list_mention_no_identity(missing: object):
    found = identities_from_text(["nan cat", missing, "none"], ["cat", "nan", "none"])
    assert {name: each.tolist() for name, each in found.items()} == {
        "cat": [True, False, False],
        "nan": [True, False, False],
        "none": [False, False, True],
    }
    with pytest.raises(ValueError, match="must contain at least one term and no empty terms"):
        identities_from_text(["a cat"], {"cat": ["cat", missing]})


def test_settings_of_another_type_are_rejected():
    assert message(LABELS, SCORES, {}, settings={"power": 1}) == (
        "`settings` must be MetricSettings(...), not {'power': 1}."
    )


def test_object_that_is_no_data_frame_is_rejected():
    with pytest.raises(
        TypeError, match=r"`data` must be a pandas data frame or map names to arrays, not a builtins\.int\."
    ):
        bias_report("y", "s", ["cat"], data=5)
