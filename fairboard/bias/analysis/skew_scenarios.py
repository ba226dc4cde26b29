"""Simulated biased models, and the experiment with a skewed class balance."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from fairboard.bias.analysis.pinned_auc import NOT_ROBUST, expected
from fairboard.bias.analysis.rows import CountedRows, Rows, count
from fairboard.bias.prepared import FloatArray
from fairboard.bias.subgroups import BIAS_AUCS, BiasAuc

SUBGROUP = "subgroup"
ROWS_PER_CLASS = 1000

_BACKGROUND_DEVIATION = 0.05


@dataclass(frozen=True, slots=True)
class Printed:
    """The values printed in Table 2; the AEGs are given by name, whatever their order in the column."""

    subgroup_auc: float
    bpsn_auc: float
    bnsp_auc: float
    positive_aeg: float
    negative_aeg: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """Simulated predictions with normal distributions truncated to [0, 1].

    Attributes
    ----------
    column : str
        The letter of the column in Table 2.
    description : str
        The description in the paper.
    background, subgroup : tuple of (float, float)
        Means of the positive and of the negative rows. The standard deviation of the background is 0.05.
    deviation : float
        Standard deviation of the subgroup.
    shares : tuple of (float, float)
        Number of positive and of negative subgroup rows per background row of the same class.
    printed : Printed
        The values printed in the paper.
    """

    column: str
    description: str
    background: tuple[float, float]
    subgroup: tuple[float, float]
    printed: Printed
    deviation: float = _BACKGROUND_DEVIATION
    shares: tuple[float, float] = (1.0, 1.0)


# The parameters are those of the paper's notebook (types_of_bias.ipynb). The AEG printed in column A
# differs from the value of its scenario, which is 0.498. Columns E and F print the positive AEG before the
# negative AEG, and column G prints them in reverse order.
TABLE_2: tuple[Scenario, ...] = (
    Scenario("A", "Small right score shift", (0.6, 0.2), (0.8, 0.4), Printed(1.0, 0.99, 1.0, 0.42, 0.42)),
    Scenario("B", "Large right score shift", (0.6, 0.2), (0.95, 0.55), Printed(1.0, 0.76, 1.0, 0.5, 0.5)),
    Scenario(
        "C",
        "Score shift and size skew (more positive)",
        (0.6, 0.2),
        (0.95, 0.55),
        Printed(1.0, 0.76, 1.0, 0.5, 0.5),
        shares=(1.5, 0.5),
    ),
    Scenario("D", "Large left score shift", (0.7, 0.3), (0.35, 0.05), Printed(1.0, 1.0, 0.77, -0.5, -0.5)),
    Scenario(
        "E", "Low subgroup separability", (0.6, 0.2), (0.45, 0.35), Printed(0.93, 0.99, 0.99, -0.48, 0.48)
    ),
    Scenario(
        "F",
        "Wide subgroup score range without overlap",
        (0.8, 0.2),
        (0.8, 0.2),
        Printed(1.0, 1.0, 1.0, -0.02, 0.02),
        deviation=0.1,
    ),
    Scenario(
        "G",
        "Wide subgroup score range with overlap",
        (0.7, 0.3),
        (0.7, 0.3),
        Printed(0.92, 0.98, 0.97, -0.03, 0.03),
        deviation=0.2,
    ),
)


def class_balances() -> dict[str, Scenario]:
    """Return the scenarios of Table 1 of the note on pinned AUC, which differ in class balance.

    Column A equals column B of `TABLE_2`. Column B has more positive and fewer negative subgroup rows, and
    column C the opposite.
    """
    shifted = TABLE_2[1]
    balances = {"A": (1.0, 1.0), "B": (1.5, 0.5), "C": (0.5, 1.5)}
    return {column: replace(shifted, column=column, shares=shares) for column, shares in balances.items()}


def draw(scenario: Scenario, *, seed: int, rows: int = ROWS_PER_CLASS) -> Rows:
    """Sample rows from a scenario.

    Parameters
    ----------
    scenario : Scenario
    seed : int
        Seed of the random generator, for reproducible rows.
    rows : int
        Number of background rows in each class.

    Returns
    -------
    Rows
        The rows, with the single identity ``"subgroup"``.
    """
    rng = np.random.default_rng(seed)
    sets = list(_draw_sets(rng, scenario, rows))
    return Rows.of(
        labels=np.concatenate([np.full(scores.size, label) for scores, label, _ in sets]),
        predictions=np.concatenate([scores for scores, _, _ in sets]),
        identities={SUBGROUP: np.concatenate([np.full(scores.size, inside) for scores, _, inside in sets])},
    )


def _draw_sets(
    rng: np.random.Generator, scenario: Scenario, rows: int
) -> Iterator[tuple[FloatArray, int, int]]:
    """Yield the predictions, the label and the identity value (0 or 1) of each of the four sets."""
    for place, label in enumerate((1, 0)):
        yield _draw_truncated(rng, scenario.background[place], _BACKGROUND_DEVIATION, rows), label, 0
        size = round(rows * scenario.shares[place])
        yield _draw_truncated(rng, scenario.subgroup[place], scenario.deviation, size), label, 1


def _draw_truncated(rng: np.random.Generator, mean: float, deviation: float, size: int) -> FloatArray:
    """Sample from a normal distribution truncated to [0, 1]."""
    drawn = np.empty(0)
    while drawn.size < size:
        more = rng.normal(mean, deviation, 2 * size)
        drawn = np.concatenate([drawn, more[(more >= 0) & (more <= 1)]])
    return drawn[:size]


@dataclass(frozen=True, slots=True)
class SkewLine:
    """The pinned AUC of one identity before and after the skew, by model; None if undefined.

    Attributes
    ----------
    name : str
    is_skewed : bool
        Whether negative rows of this identity were removed.
    original : mapping of str to float or None
        Pinned AUC on all rows, by model.
    skewed, deviation : mapping of str to float or None
        Mean and standard deviation of the pinned AUC over the trials, by model.
    """

    name: str
    is_skewed: bool
    original: Mapping[str, float | None]
    skewed: Mapping[str, float | None]
    deviation: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class SkewExperiment:
    """The effect on pinned AUC of removing negative rows of one identity.

    Attributes
    ----------
    identity : str
        The skewed identity.
    removed, rows_left, positives_left : int
        Number of rows removed in each trial, and numbers of remaining rows and positive rows of the identity.
    trials : int
    models : tuple of str
    lines : tuple of SkewLine
        One element for each identity, in descending order of the difference between the first and the last
        model on the original rows.
    bias_aucs : mapping of str to mapping of BiasAuc to tuple of two floats or None
        For each model, the Subgroup, BPSN and BNSP AUC of the skewed identity on all rows, and the mean over
        the trials. These AUCs are robust.
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
        """Format the results as in Table 2 of the note, followed by a legend and the warning."""
        width = max(len("identity*"), *(len(line.name) + line.is_skewed for line in self.lines))
        titles = [f"{part} {model}" for part in ("original", "skewed") for model in self.models]
        text = [f"{'identity':<{width}}" + "".join(f"{title:>{len(title) + 2}}" for title in titles)]
        for line in self.lines:
            values = [part[model] for part in (line.original, line.skewed) for model in self.models]
            shown = ("-" if value is None else f"{value:.2f}" for value in values)
            cells = (f"{value:>{len(title) + 2}}" for value, title in zip(shown, titles, strict=True))
            text.append(f"{line.name + '*' * line.is_skewed:<{width}}" + "".join(cells))
        text.append(f"* {self.removed} negative rows removed at random; mean over {self.trials} trials.")
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
    """Measure how pinned AUC changes when random negative rows of one identity are removed.

    Parameters
    ----------
    rows : Rows
        The rows; their predictions are ignored.
    models : mapping of str to ndarray of float64, each of shape (rows.size,)
        The predictions of one or more models.
    identity : str
        The identity to skew.
    seed : int
        Seed of the random generator, for reproducible removals.
    share : float
        Fraction of the identity's negative rows to remove, rounded down to whole rows.
    trials : int
        Number of random removals.

    Returns
    -------
    SkewExperiment

    Raises
    ------
    ValueError
        If there is no model or no trial, or if the share is not between 0 and 1.

    Notes
    -----
    Table 2 of "Limitations of Pinned AUC for Measuring Unintended Bias" (2019). Every pinned AUC is the exact
    expectation over samples of the background, so only the removal is random.
    """
    if not models or trials < 1 or not 0 <= share <= 1:
        raise ValueError("The experiment requires a model, a trial, and a share between 0 and 1.")
    scored = {model: rows.predicted(predictions) for model, predictions in models.items()}
    negatives = np.flatnonzero(rows.members[identity] & ~rows.positive)
    removed = int(share * negatives.size)
    before = {model: count(each) for model, each in scored.items()}
    after: dict[str, list[CountedRows]] = {model: [] for model in models}
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
    name: str, is_skewed: bool, before: Mapping[str, CountedRows], after: Mapping[str, list[CountedRows]]
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
    identity: str, before: CountedRows, trials: list[CountedRows]
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
    """Return the difference between the models on the original rows, or -1 if it is undefined."""
    values = list(line.original.values())
    first, last = values[0], values[-1]
    return -1.0 if first is None or last is None else abs(last - first)
