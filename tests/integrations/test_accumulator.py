"""Laws of the accumulator: any order and partition of the rows gives the report on all rows."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairboard import MetricSettings, bias_report
from fairboard.accumulator import BiasAccumulator

NAMES = ("cat", "dog")
NUMBERS = st.sampled_from([0.0, 0.2, 0.49, 0.5, 0.7, 1.0])
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, st.one_of(NUMBERS, st.just(np.nan))), max_size=40)
SETTINGS = st.builds(
    MetricSettings,
    power=st.sampled_from([-5.0, 0.0, 2.0]),
    label_threshold=st.sampled_from([-1.0, 0.0, 0.5, 1.5]),
    identity_threshold=st.sampled_from([-1.0, 0.0, 0.5, 1.5]),
    undefined=st.sampled_from(["error", "skip"]),
)


def filled(settings: MetricSettings | None, rows: np.ndarray) -> BiasAccumulator:
    """Return an accumulator with rows of predictions, labels and identities."""
    found = BiasAccumulator(NAMES, settings=settings)
    found.update(rows[:, 0], rows[:, 1], rows[:, 2:])
    return found


@given(ROWS, SETTINGS, st.data())
def test_any_order_and_partition_gives_the_report_on_all_rows(rows, settings, data):
    table = np.array(rows, dtype=float).reshape(-1, 4)
    expected = bias_report(
        table[:, 1], table[:, 0], dict(zip(NAMES, table[:, 2:].T, strict=True)), settings=settings
    )
    shuffled = table[data.draw(st.permutations(range(len(table))))]
    ends = sorted(data.draw(st.lists(st.integers(0, len(table)), max_size=4)))
    parts = [filled(settings, part) for part in np.split(shuffled, ends)]
    merged = BiasAccumulator(NAMES, settings=settings)
    merged.merge(*data.draw(st.permutations(parts)))
    assert merged.compute() == expected
    restored = BiasAccumulator(NAMES, settings=settings)
    restored.load_state_dict(pickle.loads(pickle.dumps(merged)).state_dict())
    assert restored.compute() == expected


@pytest.mark.system
def test_accumulators_of_processes_merge_exactly():
    table = np.random.default_rng(3).random((400, 4)).round(2)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        first, second = pool.map(filled, [None, None], [table[:150], table[150:]])
    second.merge(first)
    assert second.compute() == filled(None, table).compute()


def test_batches_may_be_lists_frames_or_mappings_in_any_order_of_columns():
    found = BiasAccumulator(NAMES)
    found.update([0.9], [1], {"dog": [0], "cat": [1], "fish": [1]})
    found.update([0.3, 0.4], [True, False], pd.DataFrame({"dog": [1, 0], "cat": [0.0, 1.0]}))
    found.update([0.5], [1], pa.table({"dog": [None], "cat": [1]}))
    found.update([0.6], [0], np.ma.MaskedArray([[1, 1]], [[False, True]]))
    expected = {"cat": [1, 0, 1, 1, 1], "dog": [0, 1, 0, 0, 0]}
    assert found.compute() == bias_report([1, 1, 0, 1, 0], [0.9, 0.3, 0.4, 0.5, 0.6], expected)


def test_a_batch_may_lack_a_category():
    found = BiasAccumulator(NAMES)
    found.update([0.9, 0.3], [1, 0], ["cat", None])
    found.update([0.4, 0.6], [1, 0], pd.Series(["dog", "fish"]))
    expected = {"cat": [1, 0, 0, 0], "dog": [0, 0, 1, 0]}
    assert found.compute() == bias_report([1, 0, 1, 0], [0.9, 0.3, 0.4, 0.6], expected)


def test_a_reset_accumulator_is_empty_and_accepts_another_epoch():
    found = filled(None, np.ones((3, 4)))
    found.reset()
    assert found.compute().rows == 0
    found.merge(filled(None, np.zeros((2, 4))))
    assert found.compute().rows == 2


def test_a_caller_may_reuse_its_arrays():
    predictions = np.array([0.9, 0.1])
    found = BiasAccumulator(["cat"])
    found.update(predictions, [1, 0], [[1], [1]])
    predictions[:] = 0.5
    assert found.compute().overall_auc == 1.0


@pytest.mark.parametrize(
    ("preds", "target", "subgroups", "said"),
    [
        ([0.1, np.nan], [1, 0], [[1, 0], [0, 1]], "`preds` must be finite"),
        ([0.1], [1, 0], [[1, 0], [0, 1]], "`preds` must have 2 values, not 1"),
        ([0.1, 0.2], [1, np.nan], [[1, 0], [0, 1]], "`target` must be finite"),
        ([0.1, 0.2], [1, 0], [[1], [0]], r"`subgroups` must have shape \(2, 2\), not \(2, 1\)"),
        (
            [0.1],
            [1, np.nan],
            {"cat": [1]},
            r"`preds` must have 2 values, not 1\.\n`subgroups` has no column dog",
        ),
        ([0.1, 0.2], [1, 0], {"cat": [1, 0]}, "`subgroups` has no column dog"),
        ([0.1, 0.2], [1, 0], {"cat": [1, 0], "dog": [1]}, r"`subgroups\['dog'\]` must have 2 values"),
    ],
)
def test_a_rejected_batch_leaves_the_accumulator_unchanged(preds, target, subgroups, said):
    found = filled(None, np.ones((3, 4)))
    with pytest.raises(ValueError, match=said):
        found.update(preds, target, subgroups)
    assert found.compute().rows == 3


def test_accumulators_with_different_names_or_settings_do_not_merge():
    found = BiasAccumulator(NAMES)
    for other in (BiasAccumulator(["cat"]), BiasAccumulator(NAMES, settings=MetricSettings(power=1))):
        with pytest.raises(ValueError, match="equal `names` and `settings`"):
            found.merge(other)
    with pytest.raises(ValueError, match="`names` of the state must be"):
        found.load_state_dict(BiasAccumulator(["cat"]).state_dict())
    with pytest.raises(ValueError, match="`preds` must have 3 values, not 2"):
        found.load_state_dict({**filled(None, np.ones((3, 4))).state_dict(), "preds": [0.1, 0.2]})


@pytest.mark.parametrize("names", ["cat", ["cat", "dog", "cat"], [1, "1"]])
def test_names_are_a_list_without_repetitions(names):
    with pytest.raises(ValueError, match="`names` must be a list of different names"):
        BiasAccumulator(names)
