"""Accepted data structures of the high-level functions."""

import numpy as np
import pandas as pd
import pytest

from fairboard import bias_report, identities_from_text

LABELS = [1, 0, 1, 0, 1, 0, 1, 0]
SCORES = [0.9, 0.3, 0.4, 0.2, 0.8, 0.8, 0.1, 0.6]
CAT = [1, 1, None, 0, 1, 0, 1, None]
DOG = [0, 0, 1, 1, 1, None, 0, 1]
EXPECTED = bias_report(
    LABELS, SCORES, {"cat": [value or 0 for value in CAT], "dog": [value or 0 for value in DOG]}
)

SEQUENCES = {
    "list": list,
    "numpy": lambda values: np.array(values, dtype=object),
    "pandas": lambda values: pd.Series(values, index=range(8, 0, -1)),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pandas categorical": lambda values: pd.Series(values, dtype="category"),
}


@pytest.mark.parametrize("make", SEQUENCES.values(), ids=SEQUENCES)
def test_report_does_not_depend_on_the_type_of_the_columns(make):
    identities = {"cat": make(CAT), "dog": make(DOG)}
    assert bias_report(make(LABELS), make(SCORES), identities) == EXPECTED
    assert bias_report(make([label == 1 for label in LABELS]), make(SCORES), identities) == EXPECTED


def test_identities_may_be_a_data_frame():
    frame = pd.DataFrame({"cat": CAT, "dog": DOG}, index=range(8, 0, -1))
    assert (
        bias_report(LABELS, SCORES, frame) == bias_report(LABELS, SCORES, frame.convert_dtypes()) == EXPECTED
    )


@pytest.mark.parametrize(
    "labels", [[1, np.nan], [1, None], [[1, 0]], [[1], [1, 0]], ["yes", "no"], [10**400, 0]]
)
def test_labels_must_be_finite_numbers_in_one_dimension(labels):
    with pytest.raises(ValueError, match="`y_true`"):
        bias_report(labels, [0.5, 0.4], {})


@pytest.mark.parametrize(
    "subgroups",
    [
        {"cat": [1]},
        {"cat": [1, np.inf]},
        {"cat": [1, "no"]},
        {"cat": [None, object()]},
        {1: [1, 0], "1": [0, 1]},
    ],
)
def test_identities_must_be_numbers_or_blanks_with_different_names(subgroups):
    with pytest.raises(ValueError, match="`subgroups"):
        bias_report([1, 0], [0.5, 0.4], subgroups)


@pytest.mark.parametrize(
    ("subgroups", "options", "error"),
    [
        ([[1, 0]], {}, TypeError),
        (pd.Series([1, 0]), {}, TypeError),
        ({"cat": [1, 0]}, {"in_score": ["dog"]}, ValueError),
        ({"cat": [1, 0]}, {"settings": {"power": 1}}, TypeError),
    ],
)
def test_unnamed_identities_and_invalid_options_are_rejected(subgroups, options, error):
    with pytest.raises(error):
        bias_report([1, 0], [0.5, 0.4], subgroups, **options)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_texts_mention_no_identity(missing):
    found = identities_from_text(["nan cat", missing, "none"], {"cat": "cat", "nan": ["nan"], "none": "none"})
    assert [each.tolist() for each in found.values()] == [
        [True, False, False],
        [True, False, False],
        [False, False, True],
    ]
    with pytest.raises(ValueError, match="no empty terms"):
        identities_from_text(["a cat"], {"cat": ["cat", ""]})
