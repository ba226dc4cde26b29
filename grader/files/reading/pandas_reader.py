"""CSV reader of pandas, an optional dependency, with correctly rounded numbers."""

from collections.abc import Callable
from functools import partial
from typing import Any


def pandas_reader() -> Callable[..., Any] | None:
    """Return `pandas.read_csv`, which rounds correctly; None if pandas is not installed."""
    # Web processes import this package but never call this function.
    try:
        import pandas as pd
    except ModuleNotFoundError:
        return None
    # The default is exact since pandas 3.1, which deprecates the argument. Before, last bits may be wrong.
    is_exact = tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    return pd.read_csv if is_exact else partial(pd.read_csv, float_precision="round_trip")
