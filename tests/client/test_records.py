"""Records of `grader.client` as tables."""

import sys

import pandas as pd
import pytest

from grader.client.records import Submission, Submissions

EMPTY = Submissions.of({"submissions": [], "selection": None, "limits": None})


def test_identities_of_both_splits_are_one_table():
    identities = [{"name": "cat", "bpsn_auc": 0.5}, {"name": "dog", "bpsn_auc": None}]
    found = Submission.of({"identities": identities, "private_identities": identities[:1]}).to_frame()
    expected = {
        "split": ["public", "public", "private"],
        "name": ["cat", "dog", "cat"],
        "bpsn_auc": [0.5, None, 0.5],
    }
    pd.testing.assert_frame_equal(found, pd.DataFrame(expected))
    assert EMPTY.to_frame().empty


def test_table_without_pandas_explains_the_installation(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"`to_frame` needs pandas, .*py3-none-any\.whl\[client\]"):
        EMPTY.to_frame()
