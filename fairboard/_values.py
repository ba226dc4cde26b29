"""Input columns and values of a bias report, shared by the integrations."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.metrics import BiasReport


def columns_of(subgroups: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Return one array per identity from a mapping, a data frame, or a matrix with `names`."""
    keys = subgroups.keys() if hasattr(subgroups, "keys") else getattr(subgroups, "columns", None)
    if keys is not None:
        chosen = list(keys) if names is None else list(names)
        if missing := [str(name) for name in chosen if name not in keys]:
            raise ValueError(f"`subgroups` has no column {', '.join(missing)}.")
        return {str(name): plain(subgroups[name]) for name in chosen}
    matrix = np.asarray(plain(subgroups))
    if names is None or matrix.ndim != 2 or matrix.shape[1] != len(names):
        raise ValueError("`subgroups` must have named columns, or be a matrix with a column for each name.")
    return dict(zip(names, matrix.T, strict=True))


def plain(values: Any) -> Any:
    """Return a PyTorch tensor as an array of float64, and other values unchanged."""
    return values.detach().cpu().double().numpy() if hasattr(values, "detach") else values


def flat(report: BiasReport) -> dict[str, float]:
    """Return the score, its terms and all cells, such as ``bpsn_auc/cat``; undefined values are NaN."""
    cells = {f"{cell}/{name}": line[cell] for name, line in report.by_group.items() for cell in line}
    return {name: math.nan if value is None else value for name, value in (report.overall | cells).items()}
