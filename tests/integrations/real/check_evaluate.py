"""The module for Hugging Face evaluate, loaded by its path without a network."""

from importlib.util import find_spec

import evaluate
import numpy as np
import pytest

from fairboard import MetricSettings, bias_report

RNG = np.random.default_rng(9)
LABELS, PREDICTIONS = RNG.integers(0, 2, 80), RNG.random(80)
GROUPS = {"cat": RNG.random(80) < 0.5, "dog": RNG.random(80) < 0.5}
IDENTITIES = [[name for name in GROUPS if GROUPS[name][row]] for row in range(80)]


@pytest.fixture
def module(tmp_path):
    return evaluate.load(find_spec("fairboard.evaluate").origin, cache_dir=str(tmp_path))


def test_compute_returns_the_bias_report(module):
    settings = MetricSettings(power=-2)
    found = module.compute(
        predictions=PREDICTIONS, references=LABELS, identities=IDENTITIES, settings=settings
    )
    expected = bias_report(LABELS, PREDICTIONS, GROUPS, settings=settings)
    assert found == {**expected.as_dict(), "undefined": []}


def test_batches_give_the_same_result(module):
    for rows in (slice(0, 30), slice(30, 80)):
        module.add_batch(predictions=PREDICTIONS[rows], references=LABELS[rows], identities=IDENTITIES[rows])
    found = module.compute(names=["dog", "cat", "fish"])
    expected = bias_report(LABELS, PREDICTIONS, {**GROUPS, "fish": np.zeros(80)}).as_dict()
    assert [each["name"] for each in found["subgroups"]] == ["dog", "cat", "fish"]
    assert found["subgroups"][0] == expected["subgroups"][1]
    assert found["score"] is None
    assert any("fish is undefined" in reason for reason in found["undefined"])


def test_row_without_identities_may_be_none(module):
    rows = {"predictions": [0.9, 0.3, 0.4, 0.2], "references": [1, 0, 1, 0]}
    expected = module.compute(**rows, identities=[["cat"], ["cat"], [], []])
    assert module.compute(**rows, identities=[["cat"], ["cat"], None, None]) == expected


def test_identities_that_are_not_among_the_names_are_rejected(module):
    with pytest.raises(ValueError, match="contains dog, which `names` does not contain"):
        module.compute(predictions=[0.1], references=[1], identities=[["dog"]], names=["cat"])
