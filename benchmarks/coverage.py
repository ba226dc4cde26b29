"""Benchmark of confidence intervals: coverage and width of 95 % intervals of an AUC.

Run ``python benchmarks/coverage.py``, which takes about ten minutes; ``--draws`` sets the number of samples
per case. Each method gets the same samples from populations whose AUC is known: normal predictions with equal
and unequal variances, normal predictions rounded to whole numbers (many ties), predictions between 0 and 1
(beta distributions), and normal predictions of which some positive rows look like negative ones. The widths
are relative to those of Newcombe's method 5.

The next table compares standard errors of the difference between two scores with many ties: those of a
classifier whose predictions are rounded to permille and of a decision tree with six leaves. It contains the
standard deviation over samples, the mean standard error of `score_difference`, and that of a bootstrap.

The last table measures clustered differences of scores. Each author adds one constant to the predictions of
both models and another one to those of each model, so the true difference is 0. Authors have 30 rows each, or
30 rows on average.

The methods are DeLong's (untransformed, on the logit scale, and after one tied row was added to each set),
Newcombe's method 5 (Statistics in Medicine 25, 2006), Wilson's interval with the effective size that follows
from DeLong's variance, empirical likelihood of placements (Qin and Zhou, Biometrics 62, 2006), the stratified
bootstrap with bias correction and acceleration (only with ``--bootstrap``), and `auc_interval`.
"""

import argparse
import math
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from grader.metrics import MetricSettings, count_pairs, prepare, report
from grader.metrics.analysis.influence import Measured, Sets
from grader.metrics.analysis.intervals import auc_interval, logit_interval, quantile
from grader.metrics.analysis.paired_differences import Difference, score_difference

Values = NDArray[np.float64]
Interval = tuple[float | None, float | None]
Z = quantile(0.95)
SIZES = ((4, 4), (4, 25), (4, 200), (4, 4000), (8, 8), (8, 200), (8, 4000), (25, 25), (25, 2000), (100, 4000))
AUCS = (0.5, 0.7, 0.9, 0.97, 0.99, 0.998, 0.999)
RESAMPLES = 999


class Population(NamedTuple):
    """A population with a known AUC."""

    name: str
    auc: float
    draw: Callable[[np.random.Generator, int, int], tuple[Values, Values]]


def populations(auc: float) -> Iterator[Population]:
    for spread in (0.5, 1.0, 2.0):
        center = stats.norm.ppf(auc) * math.hypot(1, spread)

        def normal(
            dice: np.random.Generator, n1: int, n0: int, center: float = center, spread: float = spread
        ) -> tuple[Values, Values]:
            return center + spread * dice.standard_normal(n1), dice.standard_normal(n0)

        yield Population(f"normal, {spread:g} times as wide", auc, normal)
    center = stats.norm.ppf(auc) * math.sqrt(2)
    steps = np.arange(-12, 20)
    of_positive = np.diff(stats.norm.cdf(np.append(steps, 20) - 0.5 - center))
    of_negative = np.diff(stats.norm.cdf(np.append(steps, 20) - 0.5))
    rounded_auc = float((of_positive * (np.cumsum(of_negative) - of_negative / 2)).sum())

    def rounded(dice: np.random.Generator, n1: int, n0: int) -> tuple[Values, Values]:
        return np.round(center + dice.standard_normal(n1)), np.round(dice.standard_normal(n0))

    yield Population("normal, rounded", rounded_auc, rounded)
    if auc >= 0.6:
        grid = np.linspace(1e-5, 1 - 1e-5, 20_001)
        below = stats.beta.cdf(grid, 1, 12)
        shape = optimize.brentq(
            lambda a: float(np.trapezoid(stats.beta.pdf(grid, a, 3) * below, grid)) - auc, 0.05, 200
        )
        yield Population("beta", auc, lambda dice, n1, n0: (dice.beta(shape, 3, n1), dice.beta(1, 12, n0)))
    for missed in (0.001, 0.02):
        others = (auc - missed / 2) / (1 - missed)
        if others < 1:
            top = stats.norm.ppf(others) * math.sqrt(2)

            def mixed(
                dice: np.random.Generator, n1: int, n0: int, top: float = top, missed: float = missed
            ) -> tuple[Values, Values]:
                found = dice.standard_normal(n1) + np.where(dice.random(n1) < missed, 0, top)
                return found, dice.standard_normal(n0)

            yield Population(f"{missed:.1%} of positive rows missed", auc, mixed)


class Sample(NamedTuple):
    """A sample's AUC, the placements of its rows and DeLong's variance."""

    auc: float
    of_positive: Values
    of_negative: Values

    @classmethod
    def of(cls, positive: Values, negative: Values) -> "Sample":
        of_positive = _placements(positive, negative)
        return cls(float(of_positive.mean()), of_positive, 1 - _placements(negative, positive))

    @property
    def sizes(self) -> tuple[int, int]:
        return self.of_positive.size, self.of_negative.size

    @property
    def variance(self) -> float:
        return sum(float(each.var(ddof=1)) / each.size for each in (self.of_positive, self.of_negative))


def _placements(rows: Values, others: Values) -> Values:
    ordered = np.sort(others)
    below: Values = np.searchsorted(ordered, rows, "left") + np.searchsorted(ordered, rows, "right")
    return below / (2 * others.size)


def untransformed(sample: Sample) -> Interval:
    reach = Z * math.sqrt(sample.variance)
    return (sample.auc - reach, sample.auc + reach) if reach else (None, None)


def logit(sample: Sample) -> Interval:
    return logit_interval(sample.auc, math.sqrt(sample.variance))


def pseudo_counts(sample: Sample) -> Interval:
    (n1, n0), half = sample.sizes, np.array([0.5])
    added = Sample(
        0.0,
        np.append((sample.of_positive * n0 + 0.5) / (n0 + 1), half),
        np.append((sample.of_negative * n1 + 0.5) / (n1 + 1), half),
    )
    return logit_interval(float(added.of_positive.mean()), math.sqrt(added.variance))


def _model_variance(auc: float, n1: int, n0: int) -> float:
    share = (n1 + n0) / 2 - 1
    return auc * (1 - auc) * (1 + share * ((1 - auc) / (2 - auc) + auc / (1 + auc))) / (n1 * n0)


def newcombe(sample: Sample) -> Interval:
    def excess(auc: float) -> float:
        return (sample.auc - auc) ** 2 - Z * Z * _model_variance(auc, *sample.sizes)

    inside = min(max(sample.auc, 1e-9), 1 - 1e-9)
    low = 0.0 if excess(1e-12) <= 0 or sample.auc <= 0 else optimize.brentq(excess, 1e-12, inside)
    high = 1.0 if excess(1 - 1e-12) <= 0 or sample.auc >= 1 else optimize.brentq(excess, inside, 1 - 1e-12)
    return low, high


def wilson(sample: Sample) -> Interval:
    spread = sample.auc * (1 - sample.auc)
    if not (spread and sample.variance):
        return None, None
    excess = Z * Z * sample.variance / spread
    center, reach = sample.auc + excess / 2, math.sqrt(excess * (spread + excess / 4))
    return (center - reach) / (1 + excess), (center + reach) / (1 + excess)


def empirical_likelihood(sample: Sample) -> Interval:
    placements, n = sample.of_positive, sample.of_positive.size
    if not placements.var():
        return None, None
    scale = float(placements.var()) / n / sample.variance

    def excess(auc: float) -> float:
        centered = placements - auc
        low, high = centered.min(), centered.max()
        if low >= 0 or high <= 0:
            return math.inf
        bounds = (-1 / high) * (1 - 1e-9), (-1 / low) * (1 - 1e-9)
        tilt = optimize.brentq(lambda t: float((centered / (1 + t * centered)).sum()), *bounds)
        return 2 * float(np.log1p(tilt * centered).sum()) * scale - Z * Z

    edges = float(placements.min()), float(placements.max())
    ends = []
    for edge in edges:
        outside = edge + 1e-9 * (sample.auc - edge)
        ends.append(optimize.brentq(excess, outside, sample.auc) if excess(outside) > 0 else edge)
    return ends[0], ends[1]


def ours(sample: Sample) -> Interval:
    return auc_interval(sample.auc, sample.variance, sample.sizes)


def bootstrap(sample: Sample, positive: Values, negative: Values, dice: np.random.Generator) -> Interval:
    resampled = np.array(
        [
            _placements(dice.choice(positive, positive.size), dice.choice(negative, negative.size)).mean()
            for _ in range(RESAMPLES)
        ]
    )
    shift = stats.norm.ppf(np.clip((resampled < sample.auc).mean(), 1e-3, 1 - 1e-3))
    parts = [(each - each.mean()) / each.size for each in (sample.of_positive, sample.of_negative)]
    squares = sum(float(np.square(each).sum()) for each in parts)
    cubes = sum(float((each**3).sum()) for each in parts)
    bend = cubes / (6 * squares**1.5) if squares else 0.0
    ends = [stats.norm.cdf(shift + (shift + z) / (1 - bend * (shift + z))) for z in (-Z, Z)]
    low, high = np.quantile(resampled, ends)
    return float(low), float(high)


METHODS: dict[str, Callable[[Sample], Interval]] = {
    "DeLong": untransformed,
    "DeLong, logit": logit,
    "DeLong, logit, one tied row added": pseudo_counts,
    "Wilson, DeLong's effective size": wilson,
    "empirical likelihood": empirical_likelihood,
    "Newcombe's method 5": newcombe,
    "auc_interval": ours,
}


class Found(NamedTuple):
    """The coverage and the median width of one method in one case."""

    sizes: tuple[int, int]
    auc: float
    coverage: float
    width: float


def measure(draws: int, *, with_bootstrap: bool) -> dict[str, list[Found]]:
    found: dict[str, list[Found]] = {}
    for sizes in SIZES:
        for auc in AUCS:
            for population in populations(auc):
                dice = np.random.default_rng(1)
                held: dict[str, list[bool]] = {}
                widths: dict[str, list[float]] = {}
                for _ in range(draws):
                    positive, negative = population.draw(dice, *sizes)
                    sample = Sample.of(positive, negative)
                    intervals = {name: method(sample) for name, method in METHODS.items()}
                    if with_bootstrap:
                        intervals["bootstrap, BCa"] = bootstrap(sample, positive, negative, dice)
                    for name, (low, high) in intervals.items():
                        known = low is not None and high is not None
                        held.setdefault(name, []).append(known and low <= population.auc <= high)
                        widths.setdefault(name, []).append(high - low if known else math.nan)
                for name, each in held.items():
                    width = float(np.nanmedian(widths[name])) if np.isfinite(widths[name]).any() else math.nan
                    found.setdefault(name, []).append(Found(sizes, auc, statistics.mean(each), width))
    return found


def print_methods(found: dict[str, list[Found]]) -> None:
    reference = found["Newcombe's method 5"]
    print(f"{'coverage of 95 % intervals':36}{'lowest':>8}{'mean':>8}{'cases < 93 %':>14}{'width':>8}")
    for name, cases in found.items():
        coverage = np.array([each.coverage for each in cases])
        ratios = [mine.width / other.width for mine, other in zip(cases, reference, strict=True)]
        print(
            f"{name:36}{coverage.min():>8.1%}{coverage.mean():>8.1%}{(coverage < 0.93).mean():>14.1%}"
            f"{np.nanmedian(ratios):>8.2f}"
        )


def print_cases(cases: list[Found]) -> None:
    print("\nlowest coverage of auc_interval over all populations, by size of both sets and AUC")
    print(f"{'':12}" + "".join(f"{auc:>8g}" for auc in AUCS))
    for sizes in SIZES:
        lowest = [
            min(each.coverage for each in cases if (each.sizes, each.auc) == (sizes, auc)) for auc in AUCS
        ]
        print(f"{sizes[0]:>4} {sizes[1]:>6} " + "".join(f"{each:>8.1%}" for each in lowest))


def print_differences(draws: int) -> None:
    print("\nstandard error of the difference between two scores with many ties")
    print(f"{'rows':>8}{'true':>9}{'mean of ours':>14}{'mean of bootstrap':>19}")
    for rows in (300, 600, 2000):
        differences, ours, resampled = [], [], []
        for seed in range(draws):
            dice = np.random.default_rng(seed)
            labels, mentions, rounded, tree = _classified(rows, dice)
            sets = Sets(prepare(labels, mentions))
            found = score_difference(Measured.of(sets, rounded), Measured.of(sets, tree))
            if found.difference is None or found.standard_error is None:
                continue
            differences.append(found.difference)
            ours.append(found.standard_error)
            if seed < draws // 25:
                resampled.append(_bootstrapped(labels, mentions, (rounded, tree), dice))
        print(
            f"{rows:>8}{statistics.stdev(differences):>9.4f}{statistics.mean(ours):>14.4f}"
            f"{statistics.mean(resampled):>19.4f}"
        )


def _classified(rows: int, dice: np.random.Generator) -> tuple[Any, dict[str, Any], Values, Values]:
    labels = dice.random(rows) < 0.25
    mentions = {"rare": dice.random(rows) < 0.06, "common": dice.random(rows) < 0.2}
    first = 1.2 * labels + 0.5 * mentions["rare"] + dice.normal(size=rows)
    second = 0.9 * labels - 0.3 * mentions["rare"] + dice.normal(size=rows)
    rounded = np.round(1 / (1 + np.exp(2 - 1.1 * first - 0.8 * second)), 3)
    leaves = [(first < 0) & (second < 0.3), first < 0, (first < 1) & (second < 0.8), first < 1, second < 0]
    return labels, mentions, rounded, np.select(leaves, [0.05, 0.13, 0.22, 0.4, 0.5], 0.8)


def _bootstrapped(
    labels: Any, mentions: dict[str, Any], predictions: tuple[Values, Values], dice: np.random.Generator
) -> float:
    found = []
    classes = np.flatnonzero(labels), np.flatnonzero(~labels)
    for _ in range(150):
        drawn = np.concatenate([dice.choice(rows, rows.size) for rows in classes])
        split = prepare(labels[drawn], {name: each[drawn] for name, each in mentions.items()})
        one, other = (report(count_pairs(split, each[drawn]), MetricSettings()).score for each in predictions)
        if one is not None and other is not None:
            found.append(one - other)
    return statistics.stdev(found)


def print_clusters(draws: int) -> None:
    print("\ncoverage of 95 % intervals of the difference between two scores, for rows of few authors")
    print(f"{'authors':>8}{'rows per author':>17}{'normal quantile':>17}{'ours':>8}")
    for authors in (5, 10, 30):
        for kind in ("equal", "unequal"):
            dice, normal, ours = np.random.default_rng(1), [], []
            for _ in range(draws):
                found = _clustered(authors, dice, is_equal=kind == "equal")
                if found.low is None or found.high is None:
                    continue
                ours.append(found.low <= 0 <= found.high)
                normal.append(abs(found.difference or 0) <= Z * (found.standard_error or 0))
            print(f"{authors:>8}{kind:>17}{statistics.mean(normal):>17.1%}{statistics.mean(ours):>8.1%}")


def _clustered(authors: int, dice: np.random.Generator, *, is_equal: bool) -> Difference:
    shares = np.ones(authors) if is_equal else dice.gamma(2, size=authors)
    author = np.repeat(np.arange(authors), 30)
    if not is_equal:
        author = dice.choice(authors, 30 * authors, p=shares / shares.sum())
    labels, mentions = dice.random(author.size) < 0.4, {"cat": dice.random(author.size) < 0.4}
    common = 1.4 * labels + dice.normal(size=authors)[author] + dice.normal(size=author.size)
    sets = Sets.clustered(prepare(labels, mentions), author)
    first, second = (
        common + 0.6 * dice.normal(size=authors)[author] + 0.5 * dice.normal(size=author.size)
        for _ in range(2)
    )
    return score_difference(Measured.of(sets, first), Measured.of(sets, second))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--draws", type=int, default=1000, help="number of samples per case")
    parser.add_argument("--bootstrap", action="store_true", help="include the bootstrap, which is slow")
    options = parser.parse_args()
    np.seterr(all="ignore")
    found = measure(options.draws, with_bootstrap=options.bootstrap)
    print_methods(found)
    print_cases(found["auc_interval"])
    print_differences(options.draws)
    print_clusters(options.draws)


if __name__ == "__main__":
    main()
