"""The groups of a score, of any metric, as the assessment of a solution needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.services.competitions.metric import Rules

Strata = tuple[NDArray[np.bool_], Mapping[str, NDArray[np.bool_]]]
"""Rows of a class, and the rows of each stratum, by which a split is balanced."""


@dataclass(frozen=True, eq=False)
class Grouped:
    """The rules of the score, with the groups in it.

    `facts` are parts of the report. `problems` are reasons why the solution cannot be used for scoring.
    `is_high` and `members` are hidden values, which nothing visible may predict.
    """

    rules: Rules
    facts: dict[str, Any]
    problems: list[str]
    is_high: NDArray[np.bool_]
    members: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    warnings: tuple[tuple[str, str], ...] = ()
