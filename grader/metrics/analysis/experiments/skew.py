"""Experiment on skewed class balance (Table 2 of the note on pinned AUC)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from grader.metrics.analysis.experiments.pinned import NOT_ROBUST, expected
from grader.metrics.analysis.pair_counts import Counted, count
from grader.metrics.analysis.rows import Rows
from grader.metrics.prepared import FloatArray
from grader.metrics.subgroups import BIAS_AUCS, BiasAuc


@dataclass(frozen=True, slots=True)
class SkewLine:
    """One identity before and after the skew, for each model; None is undefined.

    Attributes
    ----------
    name : str
    is_skewed : bool
        Whether it is the identity whose negative rows were removed.
    original : mapping of str to float or None
        Pinned AUC on all rows, by model.
    skewed, deviation : mapping of str to float or None
        Mean of the pinned AUC over the trials, and the deviation among them, by model.
    """

    name: str
    is_skewed: bool
    original: Mapping[str, float | None]
    skewed: Mapping[str, float | None]
    deviation: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class SkewExperiment:
    """What removing negative rows of one identity does to pinned AUC.

    Attributes
    ----------
    identity : str
        The identity that was skewed.
    removed, rows_left, positives_left : int
        Rows taken away in each trial, and what remains of the identity.
    trials : int
    models : tuple of str
    lines : tuple of SkewLine
        The largest difference between the first and the last model on the original rows first.
    bias_aucs : mapping of str to mapping of BiasAuc to tuple of two floats or None
        For each model the Subgroup, BPSN and BNSP AUC of the skewed identity, on all rows and as the
        mean of the trials: these are robust.
    """

    identity: str
    removed: int
    rows_left: int
    positives_left: int
    trials: int
    models: tuple[str, ...]
    lines: tuple[SkewLine, ...]
    bias_aucs: Mapping[str, Mapping[BiasAuc, tuple[float | None, float | None]]]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready data, with the warning."""
        return asdict(self) | {"warning": NOT_ROBUST}

    def __str__(self) -> str:
        """Return Table 2 of the note, two decimals, with what was done and the warning below it."""
        width = max(len("identity*"), *(len(line.name) + line.is_skewed for line in self.lines))
        titles = [f"{part} {model}" for part in ("original", "skewed") for model in self.models]
        text = [f"{'identity':<{width}}" + "".join(f"{title:>{len(title) + 2}}" for title in titles)]
        for line in self.lines:
            values = [part[model] for part in (line.original, line.skewed) for model in self.models]
            shown = ("-" if value is None else f"{value:.2f}" for value in values)
            cells = (f"{value:>{len(title) + 2}}" for value, title in zip(shown, titles, strict=True))
            text.append(f"{line.name + '*' * line.is_skewed:<{width}}" + "".join(cells))
        text.append(f"* {self.removed} of its negative rows removed at random, mean of {self.trials} trials.")
        return "\n".join([*text, NOT_ROBUST])


def skew_experiment(
    rows: Rows,
    models: Mapping[str, FloatArray],
    identity: str,
    *,
    seed: int,
    share: float = 0.5,
    trials: int = 100,
) -> SkewExperiment:
    """Remove a share of one identity's negative rows at random and see what pinned AUC makes of it.

    Parameters
    ----------
    rows : Rows
        Whose predictions are not looked at.
    models : mapping of str to ndarray of float64, each of shape (rows.size,)
        The predictions of one or more models.
    identity : str
        The identity to skew.
    seed : int
        The same seed removes the same rows.
    share : float
        Of its negative rows, rounded down to whole rows.
    trials : int

    Returns
    -------
    SkewExperiment

    Raises
    ------
    ValueError
        If there is no model or no trial, or the share is not between 0 and 1.

    Notes
    -----
    Table 2 of "Limitations of Pinned AUC for Measuring Unintended Bias" (2019). Every pinned AUC is
    the exact expectation over the samples of the background, so that only the removal is random.
    """
    if not models or trials < 1 or not 0 <= share <= 1:
        raise ValueError("An experiment needs a model, a trial, and a share between 0 and 1.")
    scored = {model: rows.predicted(predictions) for model, predictions in models.items()}
    negatives = np.flatnonzero(rows.members[identity] & ~rows.positive)
    removed = int(share * negatives.size)
    before = {model: count(each) for model, each in scored.items()}
    after: dict[str, list[Counted]] = {model: [] for model in models}
    rng = np.random.default_rng(seed)
    for _ in range(trials):
        kept = np.ones(rows.size, np.bool_)
        kept[rng.choice(negatives, removed, replace=False)] = False
        for model, each in scored.items():
            after[model].append(count(each, kept))
    lines = [_skew_line(name, name == identity, before, after) for name in rows.names]
    size = int(rows.members[identity].sum())
    return SkewExperiment(
        identity=identity,
        removed=removed,
        rows_left=size - removed,
        positives_left=size - negatives.size,
        trials=trials,
        models=tuple(models),
        lines=tuple(sorted(lines, key=_difference, reverse=True)),
        bias_aucs={model: _bias_aucs(identity, before[model], after[model]) for model in models},
    )


def _skew_line(
    name: str, is_skewed: bool, before: Mapping[str, Counted], after: Mapping[str, list[Counted]]
) -> SkewLine:
    spreads = {
        model: _mean_and_deviation([expected(name, counted).value for counted in trials])
        for model, trials in after.items()
    }
    return SkewLine(
        name=name,
        is_skewed=is_skewed,
        original={model: expected(name, counted).value for model, counted in before.items()},
        skewed={model: mean for model, (mean, _) in spreads.items()},
        deviation={model: deviation for model, (_, deviation) in spreads.items()},
    )


def _bias_aucs(
    identity: str, before: Counted, trials: list[Counted]
) -> dict[BiasAuc, tuple[float | None, float | None]]:
    aucs: dict[BiasAuc, tuple[float | None, float | None]] = {}
    for cell in BIAS_AUCS:
        mean, _ = _mean_and_deviation([counted.cells[identity][cell].auc for counted in trials])
        aucs[cell] = (before.cells[identity][cell].auc, mean)
    return aucs


def _mean_and_deviation(values: list[float | None]) -> tuple[float | None, float | None]:
    defined = np.array([value for value in values if value is not None])
    if defined.size < len(values):
        return None, None
    return float(defined.mean()), float(defined.std())


def _difference(line: SkewLine) -> float:
    """Return how far the models are apart on the original rows; undefined comes last."""
    values = list(line.original.values())
    first, last = values[0], values[-1]
    return -1.0 if first is None or last is None else abs(last - first)
