"""Simulated biased models (Table 2 of Borkan et al., 2019)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from grader.metrics.analysis.rows import Rows
from grader.metrics.prepared import FloatArray

SUBGROUP = "subgroup"
ROWS_PER_CLASS = 1000

_BACKGROUND_DEVIATION = 0.05


@dataclass(frozen=True, slots=True)
class Printed:
    """What Table 2 prints, the AEGs by their names whatever order the column has them in."""

    subgroup_auc: float
    bpsn_auc: float
    bnsp_auc: float
    positive_aeg: float
    negative_aeg: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """Normal distributions of predictions, cut off at 0 and 1.

    Attributes
    ----------
    column : str
        Its letter in Table 2.
    description : str
        The paper's.
    background, subgroup : tuple of (float, float)
        Means of the positive and of the negative rows. The background's deviation is 0.05.
    deviation : float
        The subgroup's.
    shares : tuple of (float, float)
        Positive and negative rows of the subgroup for each one of the background.
    printed : Printed
        The values in the paper.
    """

    column: str
    description: str
    background: tuple[float, float]
    subgroup: tuple[float, float]
    printed: Printed
    deviation: float = _BACKGROUND_DEVIATION
    shares: tuple[float, float] = (1.0, 1.0)


# The parameters are those of the paper's notebook (types_of_bias.ipynb). The AEG printed in column A
# does not follow from its own scenario, which gives 0.498; E and F print positive before negative,
# G negative before positive.
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
    """Return Table 1 of the note on pinned AUC: the same predictions at three balances of the classes.

    Column A is column B of Table 2 above. B has fewer negative and more positive rows of the
    subgroup, C the opposite.
    """
    shifted = TABLE_2[1]
    balances = {"A": (1.0, 1.0), "B": (1.5, 0.5), "C": (0.5, 1.5)}
    return {column: replace(shifted, column=column, shares=shares) for column, shares in balances.items()}


def draw(scenario: Scenario, *, seed: int, rows: int = ROWS_PER_CLASS) -> Rows:
    """Draw rows of a scenario; the same seed gives the same rows.

    Parameters
    ----------
    scenario : Scenario
    seed : int
    rows : int
        Rows of the background in each class.

    Returns
    -------
    Rows
        With one identity, ``"subgroup"``.
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
    """Yield the predictions, the label and whether the identity is mentioned, for each of four sets."""
    for place, label in enumerate((1, 0)):
        yield _draw_truncated(rng, scenario.background[place], _BACKGROUND_DEVIATION, rows), label, 0
        size = round(rows * scenario.shares[place])
        yield _draw_truncated(rng, scenario.subgroup[place], scenario.deviation, size), label, 1


def _draw_truncated(rng: np.random.Generator, mean: float, deviation: float, size: int) -> FloatArray:
    """Draw from a normal distribution what lies between 0 and 1."""
    drawn = np.empty(0)
    while drawn.size < size:
        more = rng.normal(mean, deviation, 2 * size)
        drawn = np.concatenate([drawn, more[(more >= 0) & (more <= 1)]])
    return drawn[:size]
