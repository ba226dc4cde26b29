"""Skew experiment of the note on pinned AUC, as in its Table 2."""

import json

import numpy as np
import pytest

from fairboard.bias.analysis import Rows
from fairboard.bias.analysis.pinned_auc import NOT_ROBUST
from fairboard.bias.analysis.skew_scenarios import skew_experiment

NAMES = ("gay", "white", "elderly")
# Rows of each identity, as in the note; half of them are positive.
EACH = 1514
# Blocks of this size without any identity, so that a single identity has little effect.
OTHERS = 27


@pytest.fixture(scope="module")
def experiment():
    rng = np.random.default_rng(1)
    labels = np.tile(np.repeat([1, 0], EACH // 2), len(NAMES) + OTHERS)
    of = np.repeat([*NAMES, *[""] * OTHERS], EACH)
    noise = rng.normal(0, 0.1, labels.size)
    shift = {"gay": 0.5, "white": 0.1, "elderly": 0.0, "": 0.0}
    before = labels * 0.5 + noise + np.array([shift[name] for name in of])
    after = labels * 0.5 + noise + np.array([shift[name] / 4 for name in of])
    rows = Rows.of(labels, before, {name: of == name for name in NAMES})
    return skew_experiment(rows, {"@1": before, "@6": after}, "gay", seed=2, trials=5)


def test_sizes_equal_those_of_the_note(experiment):
    assert experiment.removed == 378
    assert experiment.rows_left == 1136
    assert experiment.positives_left == 757
    assert 0.66 <= experiment.positives_left / experiment.rows_left < 0.67


def test_skew_hides_remaining_bias(experiment):
    gay = next(line for line in experiment.lines if line.name == "gay")
    assert gay.is_skewed
    assert gay.original["@1"] < gay.original["@6"]
    assert gay.skewed["@1"] > gay.original["@1"] + 0.03
    assert gay.skewed["@6"] - gay.original["@6"] < gay.skewed["@1"] - gay.original["@1"]


def test_other_identities_keep_their_values(experiment):
    for line in experiment.lines:
        if line.name != "gay":
            for model in ("@1", "@6"):
                assert line.skewed[model] == pytest.approx(line.original[model], abs=0.01)


def test_bias_aucs_of_the_skewed_identity_do_not_change(experiment):
    for model in ("@1", "@6"):
        for original, skewed in experiment.bias_aucs[model].values():
            assert skewed == pytest.approx(original, abs=0.01)


def test_table_has_original_and_skewed_columns_for_two_models(experiment):
    head, *lines, note, warning = str(experiment).splitlines()
    assert head.split() == ["identity", "original", "@1", "original", "@6", "skewed", "@1", "skewed", "@6"]
    assert lines[0].startswith("gay*")
    assert note == "* 378 negative rows removed at random; mean over 5 trials."
    assert warning == NOT_ROBUST
    assert all(len(line.split()) == 5 for line in lines)
    assert next(line.name for line in experiment.lines) == "gay"


def test_json_contains_the_warning(experiment):
    data = json.loads(json.dumps(experiment.as_dict()))
    assert data["warning"] == NOT_ROBUST
    assert data["lines"][0]["deviation"]["@1"] >= 0


def test_seed_determines_the_removed_rows():
    rng = np.random.default_rng(3)
    rows = Rows.of(rng.integers(0, 2, 200), rng.random(200), {"cat": rng.integers(0, 2, 200)})
    models = {"one": rows.predictions}
    first, again, other = (skew_experiment(rows, models, "cat", seed=seed, trials=2) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_identity_without_negative_rows_is_undefined_in_the_table():
    rows = Rows.of([1, 1, 0, 0], [4, 3, 2, 1], {"cat": [1, 1, 0, 0], "dog": [1, 0, 1, 0]})
    experiment = skew_experiment(rows, {"one": rows.predictions}, "dog", seed=1, trials=2, share=1.0)
    assert {line.name: line.skewed["one"] for line in experiment.lines}["dog"] is None
    assert " -" in str(experiment)


@pytest.mark.parametrize(("share", "trials", "models"), [(-0.1, 1, 1), (1.1, 1, 1), (0.5, 0, 1), (0.5, 1, 0)])
def test_invalid_experiment_is_rejected(share, trials, models):
    rows = Rows.of([1, 0], [1, 0], {"cat": [1, 1]})
    with pytest.raises(ValueError, match="requires a model, a trial, and a share between 0 and 1"):
        skew_experiment(
            rows, {"one": rows.predictions} if models else {}, "cat", seed=1, share=share, trials=trials
        )
