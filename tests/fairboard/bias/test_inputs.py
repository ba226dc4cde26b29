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
    "tuple": tuple,
    "numpy": lambda values: np.array(values, dtype=object),
    "pandas": lambda values: pd.Series(values, index=range(8, 0, -1)),
    "pandas object": lambda values: pd.Series(values, dtype=object),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pandas categorical": lambda values: pd.Series(values, dtype="category"),
}


@pytest.mark.parametrize("make", SEQUENCES.values(), ids=SEQUENCES)
def test_report_does_not_depend_on_the_type_of_the_columns(make):
    identities = {"cat": make(CAT), "dog": make(DOG)}
    assert bias_report(make(LABELS), make(SCORES), identities) == EXPECTED
    assert bias_report(make([label == 1 for label in LABELS]), make(SCORES), identities) == EXPECTED
    booleans = {
        name: make([None if v is None else bool(v) for v in each])
        for name, each in (("cat", CAT), ("dog", DOG))
    }
    assert bias_report(make(LABELS), make(SCORES), booleans) == EXPECTED


def test_identities_may_be_a_data_frame():
    frame = pd.DataFrame({"cat": CAT, "dog": DOG}, index=range(8, 0, -1))
    assert (
        bias_report(LABELS, SCORES, frame) == bias_report(LABELS, SCORES, frame.convert_dtypes()) == EXPECTED
    )


@pytest.mark.parametrize(
    ("labels", "subgroups", "error", "message"),
    [
        ([1, np.nan], {}, ValueError, "`y_true` must be finite, but 1 of 2 values are not; .* position 1"),
        ([1, None], {}, ValueError, "`y_true` must be finite"),
        ([[1, 0]], {}, ValueError, "`y_true` must be one-dimensional"),
        ([[1], [1, 0]], {}, ValueError, "`y_true` must contain only numbers"),
        (["yes", "no"], {}, ValueError, "`y_true` must contain numbers or booleans"),
        ([10**400, 0], {}, ValueError, "`y_true` must contain only numbers or booleans"),
        ([1, 0], {"cat": [1]}, ValueError, r"`subgroups\['cat'\]` must have 2 values, not 1"),
        ([1, 0], {"cat": [1, np.inf]}, ValueError, r"`subgroups\['cat'\]` must be finite or blank"),
        ([1, 0], {"cat": [1, "no"]}, ValueError, r"`subgroups\['cat'\]` must contain numbers"),
        ([1, 0], {"cat": [None, object()]}, ValueError, r"`subgroups\['cat'\]` must contain only numbers"),
        ([1, 0], {1: [1, 0], "1": [0, 1]}, ValueError, "identity '1' more than once"),
        ([1, 0], [[1, 0]], TypeError, "map names to arrays"),
        ([1, 0], pd.Series([1, 0]), TypeError, "map names to arrays"),
    ],
)
def test_invalid_argument_is_named(labels, subgroups, error, message):
    with pytest.raises(error, match=message):
        bias_report(labels, [0.5, 0.4], subgroups)


@pytest.mark.parametrize(
    ("options", "error"), [({"in_score": ["dog"]}, ValueError), ({"settings": {"power": 1}}, TypeError)]
)
def test_invalid_options_are_rejected(options, error):
    with pytest.raises(error, match=r"dog|MetricSettings"):
        bias_report([1, 0], [0.5, 0.4], {"cat": [1, 0]}, **options)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_texts_mention_no_identity(missing: object):
    found = identities_from_text(["nan cat", missing, "none"], ["cat", "nan", "none"])
    assert [each.tolist() for each in found.values()] == [
        [True, False, False],
        [True, False, False],
        [False, False, True],
    ]


def test_empty_terms_are_rejected():
    with pytest.raises(ValueError, match="must contain at least one term and no empty terms"):
        identities_from_text(["a cat"], {"cat": ["cat", ""]})
