"""Benchmark of confidence intervals: coverage and width of 95 % intervals of an AUC.

Run ``python benchmarks/coverage.py``, which takes about ten minutes; ``--draws`` sets the number of samples
per case. Each method gets the same samples from populations whose AUC is known: normal predictions with equal
and unequal variances, normal predictions rounded to whole numbers (many ties), predictions between 0 and 1
(beta distributions), and normal predictions of which some positive rows look like negative ones. The widths
are relative to those of Newcombe's method 5.

The next table compares standard errors of the difference between two scores with many ties: those of a
classifier whose predictions are rounded to permille and of a decision tree with six leaves. It contains the
standard deviation over samples, the mean standard error of `score_difference`, and that of a bootstrap.

Another table measures clustered differences of scores. Each author adds one constant to the predictions of
both models and another one to those of each model, so the true difference is 0. Authors have 30 rows each, 30
rows on average, or rows by a lognormal or Pareto distribution with heavy tails.

Two tables follow: the coverage of intervals of a power mean and of the score, with identities that all have
the same true AUC, which is the most biased case; and the share of comparisons of two equally good models in
which `false_discovery_rates` lists a cell at 5 %. ``--only terms``, for example, prints one table.

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
from grader.metrics.bias.analysis.influence import Measured, Sets
from grader.metrics.bias.analysis.intervals import (
    Estimate,
    auc_interval,
    logit_interval,
    quantile,
    uncertainty_report,
)
from grader.metrics.bias.analysis.paired_differences import Difference, paired_report, score_difference

Values = NDArray[np.float64]
Interval = tuple[float | None, float | None]
Z = quantile(0.95)
SIZES = ((4, 4), (4, 25), (4, 200), (4, 4000), (8, 8), (8, 200), (8, 4000), (25, 25), (25, 2000), (100, 4000))
AUCS = (0.5, 0.7, 0.9, 0.97, 0.99, 0.998, 0.999)
RESAMPLES = 999
POWERS = (-math.inf, -10.0, -5.0, -2.0, -1.0, 0.0, 1.0)


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
        for kind in ("equal", "unequal", "lognormal", "Pareto"):
            dice, normal, ours = np.random.default_rng(1), [], []
            for _ in range(draws):
                found = _clustered(authors, dice, kind)
                if found.low is None or found.high is None:
                    continue
                ours.append(found.low <= 0 <= found.high)
                normal.append(abs(found.difference or 0) <= Z * (found.standard_error or 0))
            print(f"{authors:>8}{kind:>17}{statistics.mean(normal):>17.1%}{statistics.mean(ours):>8.1%}")


def _clustered(authors: int, dice: np.random.Generator, kind: str) -> Difference:
    shares = {
        "equal": lambda: np.ones(authors),
        "unequal": lambda: dice.gamma(2, size=authors),
        "lognormal": lambda: np.exp(1.5 * dice.normal(size=authors)),
        "Pareto": lambda: 1 + dice.pareto(1.2, size=authors),
    }[kind]()
    author = np.repeat(np.arange(authors), 30)
    if kind != "equal":
        others = dice.choice(authors, 29 * authors, p=shares / shares.sum())
        author = np.append(np.arange(authors), others)
    labels, mentions = dice.random(author.size) < 0.4, {"cat": dice.random(author.size) < 0.4}
    common = 1.4 * labels + dice.normal(size=authors)[author] + dice.normal(size=author.size)
    sets = Sets.clustered(prepare(labels, mentions), author)
    first, second = (
        common + 0.6 * dice.normal(size=authors)[author] + 0.5 * dice.normal(size=author.size)
        for _ in range(2)
    )
    return score_difference(Measured.of(sets, first), Measured.of(sets, second))


def print_terms(draws: int) -> None:
    print("\ncoverage of 95 % intervals: all samples (checked samples: their share)")
    print(f"{'identities':>11}{'positives':>10}{'AUC':>6}{'power':>7}{'Subgroup mean':>24}{'score':>24}")
    for identities, share in ((9, 0.1), (24, 0.05), (50, 0.05)):
        for positives, auc in ((25, 0.8), (25, 0.97), (100, 0.9)):
            rows, center = round(positives / share / 0.2), math.sqrt(2) * stats.norm.ppf(auc)
            held: dict[float, list[tuple[Any, Any]]] = {power: [] for power in POWERS}
            dice = np.random.default_rng(1)
            for _ in range(draws):
                labels = dice.random(rows) < 0.2
                mentions = {str(name): dice.random(rows) < share for name in range(identities)}
                sets, scores = Sets(prepare(labels, mentions)), center * labels + dice.normal(size=rows)
                for power in POWERS:
                    found = uncertainty_report(sets, scores, MetricSettings(power=power))
                    held[power].append((found.power_means["subgroup_auc"], found.score))
            for power, estimates in held.items():
                cells = [
                    _held([each for each in term if each.low is not None], auc)
                    for term in zip(*estimates, strict=True)
                ]
                print(
                    f"{identities:>11}{positives:>10}{auc:>6g}{power:>7g}{cells[0]:>24}{cells[1]:>24}",
                    flush=True,
                )


def _held(estimates: list[Estimate], auc: float) -> str:
    covered = np.array([(each.low or 0) <= auc <= (each.high or 0) for each in estimates])
    checked = np.array([each.is_checked for each in estimates], np.bool_)
    of_checked = f"{covered[checked].mean():.1%}" if checked.any() else "-"
    return f"{covered.mean():.1%} ({of_checked}: {checked.mean():.0%})" if covered.size else "-"


def print_null_comparisons(draws: int) -> None:
    print("\nshare of comparisons of equally good models that list a cell at a false discovery rate of 5 %")
    print(f"{'identities':>11}{'rows':>8}{'positives per identity':>24}{'decimals':>10}{'listed':>8}")
    for identities, rows, share, label_share in (
        (9, 600, 0.1, 0.1),
        (24, 1500, 0.05, 0.08),
        (50, 2000, 0.03, 0.08),
        (100, 1500, 0.02, 0.2),
    ):
        for decimals in (None, 0):
            dice, listed = np.random.default_rng(1), []
            for _ in range(draws):
                labels = dice.random(rows) < label_share
                sets = Sets(
                    prepare(labels, {str(name): dice.random(rows) < share for name in range(identities)})
                )
                common = 1.5 * labels + dice.normal(size=rows)
                pair = [common + 0.5 * dice.normal(size=rows) for _ in range(2)]
                first, second = (
                    Measured.of(sets, each if decimals is None else each.round(decimals)) for each in pair
                )
                rates = paired_report(sets, first, second).false_discovery_rates()
                every = [rate for cells in rates.values() for rate in cells.values() if rate is not None]
                listed.append(min(every) <= 0.05)
            case = f"{identities:>11}{rows:>8}{rows * share * label_share:>24.1f}"
            shown = "-" if decimals is None else decimals
            print(f"{case}{shown:>10}{statistics.mean(listed):>8.1%}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--draws", type=int, default=1000, help="number of samples per case")
    parser.add_argument("--bootstrap", action="store_true", help="include the bootstrap, which is slow")
    parser.add_argument(
        "--only", choices=("differences", "clusters", "terms", "null"), help="print one table"
    )
    options = parser.parse_args()
    np.seterr(all="ignore")
    tables = {
        "differences": print_differences,
        "clusters": print_clusters,
        "terms": print_terms,
        "null": print_null_comparisons,
    }
    if options.only:
        tables[options.only](options.draws)
        return
    found = measure(options.draws, with_bootstrap=options.bootstrap)
    print_methods(found)
    print_cases(found["auc_interval"])
    for print_table in tables.values():
        print_table(options.draws)


if __name__ == "__main__":
    main()
