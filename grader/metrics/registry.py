"""The built-in metrics by name; the only place that lists them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from grader.metrics.classification import CLASSIFICATION
from grader.metrics.columns import COLUMNS
from grader.metrics.interface import Metric, Options
from grader.metrics.ranking import RANKING
from grader.metrics.regression import REGRESSION

METRICS: Mapping[str, Callable[[Options], Metric]] = MappingProxyType(
    {each.name: each for each in (*CLASSIFICATION, *REGRESSION, *RANKING)}
    | {each.name: each for each in COLUMNS}
)


def metric(name: str, options: Options) -> Metric:
    """Return a built-in metric; raise ValueError if it does not exist or needs other options."""
    if name not in METRICS:
        raise ValueError(f"There is no metric {name!r}. Metrics: {', '.join(METRICS)}.")
    return METRICS[name](options)
