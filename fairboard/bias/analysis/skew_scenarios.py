"""Simulated biased models, and the experiment with a skewed class balance."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fairboard.bias.analysis.data import Data
from fairboard.bias.analysis.pinned_auc import pinned_auc
from fairboard.bias.analysis.table import metric_table
from fairboard.bias.prepared import FloatArray, as_vector
from fairboard.bias.subgroups import BIAS_AUCS

ROWS_PER_CLASS = 1000
_BACKGROUND_DEVIATION = 0.05


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
    printed : tuple of float
        The values printed in the paper: Subgroup, BPSN and BNSP AUC, positive and negative AEG.
    deviation : float
        Standard deviation of the subgroup.
    shares : tuple of (float, float)
        Number of positive and of negative subgroup rows per background row of the same class.
    """

    column: str
    description: str
    background: tuple[float, float]
    subgroup: tuple[float, float]
    printed: tuple[float, ...]
    deviation: float = _BACKGROUND_DEVIATION
    shares: tuple[float, float] = (1.0, 1.0)


# The parameters are those of the paper's notebook (types_of_bias.ipynb). The AEG printed in column A
# differs from the value of its scenario, which is 0.498. Columns E and F print the positive AEG before the
# negative AEG, and column G prints them in reverse order.
_SHIFTED = Scenario("B", "Large right score shift", (0.6, 0.2), (0.95, 0.55), (1.0, 0.76, 1.0, 0.5, 0.5))
TABLE_2: tuple[Scenario, ...] = (
    Scenario("A", "Small right score shift", (0.6, 0.2), (0.8, 0.4), (1.0, 0.99, 1.0, 0.42, 0.42)),
    _SHIFTED,
    replace(_SHIFTED, column="C", description="Score shift and size skew (more positive)", shares=(1.5, 0.5)),
    Scenario("D", "Large left score shift", (0.7, 0.3), (0.35, 0.05), (1.0, 1.0, 0.77, -0.5, -0.5)),
    Scenario("E", "Low subgroup separability", (0.6, 0.2), (0.45, 0.35), (0.93, 0.99, 0.99, -0.48, 0.48)),
    Scenario(
        "F",
        "Wide subgroup score range without overlap",
        (0.8, 0.2),
        (0.8, 0.2),
        (1.0, 1.0, 1.0, -0.02, 0.02),
        deviation=0.1,
    ),
    Scenario(
        "G",
        "Wide subgroup score range with overlap",
        (0.7, 0.3),
        (0.7, 0.3),
        (0.92, 0.98, 0.97, -0.03, 0.03),
        deviation=0.2,
    ),
)


def class_balances() -> dict[str, Scenario]:
    """Return the scenarios of Table 1 of the note on pinned AUC, which differ in class balance.

    Column A equals column B of `TABLE_2`. Column B has more positive and fewer negative subgroup rows, and
    column C the opposite.
    """
    balances = {"A": (1.0, 1.0), "B": (1.5, 0.5), "C": (0.5, 1.5)}
    return {column: replace(_SHIFTED, column=column, shares=shares) for column, shares in balances.items()}


def draw(scenario: Scenario, *, seed: int, rows: int = ROWS_PER_CLASS) -> pd.DataFrame:
    """Sample rows from a scenario, with `rows` background rows in each class.

    Returns
    -------
    DataFrame
        The columns `label`, `prediction` and `subgroup`, whose value is 1 in the rows of the subgroup.

    Examples
    --------
    >>> draw(TABLE_2[0], seed=1, rows=10).groupby(["label", "subgroup"]).size().tolist()
    [10, 10, 10, 10]
    """
    rng, sets = np.random.default_rng(seed), []
    for place, label in enumerate((1, 0)):
        inside = round(rows * scenario.shares[place])
        for subgroup, mean, deviation, size in (
            (0, scenario.background[place], _BACKGROUND_DEVIATION, rows),
            (1, scenario.subgroup[place], scenario.deviation, inside),
        ):
            drawn = _draw_truncated(rng, mean, deviation, size)
            sets.append(pd.DataFrame({"label": label, "prediction": drawn, "subgroup": subgroup}))
    return pd.concat(sets, ignore_index=True)


def _draw_truncated(rng: np.random.Generator, mean: float, deviation: float, size: int) -> FloatArray:
    """Sample from a normal distribution truncated to [0, 1]."""
    drawn = np.empty(0)
    while drawn.size < size:
        more = rng.normal(mean, deviation, 2 * size)
        drawn = np.concatenate([drawn, more[(more >= 0) & (more <= 1)]])
    return drawn[:size]


def skew_experiment(
    data: Data,
    models: Mapping[str, ArrayLike],
    identity: str,
    *,
    seed: int,
    share: float = 0.5,
    trials: int = 100,
) -> pd.DataFrame:
    """Measure how pinned AUC changes when random negative rows of one identity are removed.

    Parameters
    ----------
    data : Data
    models : mapping of str to array_like, each of shape (n,)
        The predictions of one or more models for the first label.
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
    DataFrame
        A row for each identity. For each model and each of `pinned_auc`, `subgroup_auc`, `bpsn_auc` and
        `bnsp_auc`, of which the last three are robust, the value on all rows (`original`), and the mean
        (`skewed`) and the `deviation` over the trials.

    Notes
    -----
    Table 2 of "Limitations of Pinned AUC for Measuring Unintended Bias" (2019). Every pinned AUC is the exact
    expectation over samples of the background, so only the removal is random.
    """
    scores = {model: as_vector(model, each, rows=data.size, finite=True) for model, each in models.items()}
    negatives = np.flatnonzero(
        data.members[identity] & ~data.positive[data.label] & data.labelled[data.label]
    )
    rng, after = np.random.default_rng(seed), list[pd.DataFrame]()
    for _ in range(trials):
        kept = np.ones(data.size, np.bool_)
        kept[rng.choice(negatives, int(share * negatives.size), replace=False)] = False
        skewed = data.at(kept)
        after.append(_values(skewed, {model: each[kept] for model, each in scores.items()}))
    drawn = pd.concat(after).groupby(level="identity", sort=False)
    parts = {"original": _values(data, scores), "skewed": drawn.mean(), "deviation": drawn.std(ddof=0)}
    table = pd.concat(parts, axis=1).swaplevel(0, 1, axis=1)
    return table[list(models)].rename_axis(columns=["model", "rows", "metric"])


def _values(data: Data, models: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Return the pinned AUC and the bias AUCs of each identity, by model."""
    tables = {}
    for model, predictions in models.items():
        pinned, table = pinned_auc(data, predictions), metric_table(data, predictions)
        tables[model] = table[list(BIAS_AUCS)].assign(pinned_auc=pinned["value"])[["pinned_auc", *BIAS_AUCS]]
    return pd.concat(tables, axis=1)
