"""Accumulator of batches whose result is exact for any order and partition of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.metrics import BiasReport, MetricSettings, bias_report
from grader.metrics.bias.inputs import identities_of
from grader.metrics.bias.prepared import Problems, as_column, as_vector, prepare_as

STATES = ("preds", "target", "subgroups")


class BiasAccumulator:
    """Rows of many batches or processes, with the methods of a torchmetrics metric.

    Since `compute` uses all rows and exact pair counts, it equals `bias_report` on them to the last bit.
    Accumulators can be pickled and sent between processes.

    Parameters
    ----------
    names, settings : sequence of str, and MetricSettings, optional
        The identities, and the settings of `bias_report`.

    Examples
    --------
    >>> first, second = BiasAccumulator(["cat"]), BiasAccumulator(["cat"])
    >>> first.update(preds=[0.9, 0.3], target=[1, 0], subgroups={"cat": [1, 1]})
    >>> second.update(preds=[0.4, 0.2], target=[1, 0], subgroups=[[0], [0]])
    >>> first.merge(second)
    >>> first.compute().subgroups[0].positive_aeg
    0.5
    """

    def __init__(self, names: Sequence[str], *, settings: MetricSettings | None = None) -> None:
        self.names, self.settings = tuple(map(str, names)), settings or MetricSettings()
        if isinstance(names, str) or len(set(self.names)) < len(self.names):
            raise ValueError(f"`names` must be a list of different names, not {names!r}.")
        self.reset()

    def update(self, preds: Any, target: Any, subgroups: Any) -> None:
        """Add the rows of a batch of arrays, lists or tensors.

        `subgroups` is a mapping or data frame with all `names`, a matrix with a column for each name, or a
        column of categories, of which a batch may lack some.
        A ValueError about wrong values or shapes leaves the accumulator unchanged.
        """
        problems, labels = Problems(), as_column("target", target)
        with problems.collect():
            values = as_vector("preds", preds, rows=labels.size, finite=True)
        with problems.collect():
            identities = identities_of(subgroups, None, labels.size, self.names)
            if missing := [name for name in self.names if name not in identities]:
                raise ValueError(f"`subgroups` has no column {', '.join(missing)}.")
            columns = {name: identities[name] for name in self.names}
            split = prepare_as("target", labels, "subgroups", columns, settings=self.settings)
        problems.raise_all()
        mentions = np.zeros((split.rows, len(self.names)), dtype=np.bool_)
        for place, rows in enumerate(split.members):
            mentions[rows, place] = True
        self._batches.append((values.copy(), split.labels, mentions))

    def compute(self) -> BiasReport:
        """Return the report on all rows."""
        state = self.state_dict()
        subgroups = dict(zip(self.names, state["subgroups"].T, strict=True))
        settings = replace(self.settings, label_threshold=0.5, identity_threshold=0.5)
        return bias_report(state["target"], state["preds"], subgroups, settings=settings)

    def reset(self) -> None:
        """Remove all rows."""
        no_rows = np.empty(0), np.empty(0, np.bool_), np.empty((0, len(self.names)), np.bool_)
        self._batches: list[tuple[Any, ...]] = [no_rows]

    def merge(self, *others: "BiasAccumulator") -> None:
        """Add the rows of accumulators with equal `names` and `settings`, such as of other processes."""
        if any((each.names, each.settings) != (self.names, self.settings) for each in others):
            raise ValueError("Only accumulators with equal `names` and `settings` can be merged.")
        self._batches += [batch for each in others for batch in each._batches]

    def state_dict(self) -> dict[str, Any]:
        """Return the names and all rows as arrays, with the thresholds of the settings already applied."""
        arrays = map(np.concatenate, zip(*self._batches, strict=True))
        return {"names": list(self.names), **dict(zip(STATES, arrays, strict=True))}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Replace all rows by the output of `state_dict`."""
        if tuple(state["names"]) != self.names:
            raise ValueError(f"`names` of the state must be {list(self.names)}, not {state['names']}.")
        checked = BiasAccumulator(self.names)  # the thresholds are already applied
        checked.update(*(state[name] for name in STATES))
        self._batches = checked._batches
