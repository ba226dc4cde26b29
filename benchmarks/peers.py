"""Comparison with fairlearn, AIF360 and confidenceinterval on the same data: values and time.

    .venv/bin/uv venv peers
    .venv/bin/uv pip install --python peers/bin/python -e . fairlearn aif360 confidenceinterval scikit-learn
    peers/bin/python benchmarks/peers.py

The other packages are optional; each is measured if it is installed. All tasks of a group compute the same
values. Only Fairboard computes BPSN and BNSP AUCs. Intervals of fairlearn are bootstraps with 100 samples.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version

import jigsaw_like

from fairboard import bias_report, prepare
from grader.metrics.bias.analysis.influence import Sets
from grader.metrics.bias.analysis.intervals import uncertainty_report

SAMPLES = 100
SUBGROUP = "Subgroup AUC of each identity (Fairboard: the complete report)"
INTERVALS = "95 % interval of each Subgroup AUC (Fairboard: of all cells, terms and the score)"
Task = tuple[str, str, Callable[[], dict[str, float]]]


def tasks(data: jigsaw_like.Data) -> Iterator[Task]:
    """Yield the group, the package and the computation of each task."""
    labels, scores = data.labels > 0, data.predictions
    members = {name: values > 0 for name, values in data.identities.items()}

    def ours(*cells: str) -> dict[str, float]:
        report = bias_report(labels, scores, members)
        return {f"{cell} {each.name}": getattr(each, cell) for each in report.subgroups for cell in cells}

    yield SUBGROUP, "fairboard", lambda: ours("subgroup_auc")
    with suppress(ImportError):
        from fairlearn.metrics import MetricFrame
        from sklearn.metrics import roc_auc_score

        def frames(**options: object) -> Iterator[tuple[str, MetricFrame]]:
            # Identities overlap, so each needs its own frame.
            for name, inside in members.items():
                yield (
                    name,
                    MetricFrame(
                        metrics=roc_auc_score,
                        y_true=labels,
                        y_pred=scores,
                        sensitive_features=inside,
                        **options,
                    ),
                )

        yield (
            SUBGROUP,
            "fairlearn",
            lambda: {f"subgroup_auc {name}": frame.by_group[True] for name, frame in frames()},
        )
    with suppress(ImportError):
        import pandas as pd
        from aif360.sklearn.metrics import difference
        from sklearn.metrics import roc_auc_score as auc

        def gaps() -> dict[str, float]:
            """Return the Subgroup AUCs from AIF360's differences and the background's AUCs."""
            found = {}
            for name, inside in members.items():
                truth = pd.Series(labels, index=pd.Index(inside, name="mentioned"))
                gap = difference(auc, truth, scores, prot_attr="mentioned", priv_group=False)
                found[f"subgroup_auc {name}"] = gap + auc(labels[~inside], scores[~inside])
            return found

        yield SUBGROUP, "aif360", gaps
    yield "BPSN and BNSP AUCs", "fairboard", lambda: ours("bpsn_auc", "bnsp_auc")

    def intervals() -> dict[str, float]:
        found = uncertainty_report(Sets(prepare(labels, members)), scores)
        return {
            f"{bound} {name}": getattr(cells["subgroup_auc"], bound)
            for name, cells in found.cells.items()
            for bound in ("low", "high")
        }

    yield INTERVALS, "fairboard", intervals
    with suppress(ImportError):
        from confidenceinterval import roc_auc_score as with_interval

        def delong() -> dict[str, float]:
            found = {}
            for name, inside in members.items():
                _, (low, high) = with_interval(labels[inside].tolist(), scores[inside].tolist())
                found |= {f"low {name}": low, f"high {name}": high}
            return found

        yield (
            INTERVALS,
            "confidenceinterval",
            delong,
        )
    with suppress(ImportError):
        from fairlearn.metrics import MetricFrame

        def bootstrap() -> dict[str, float]:
            found = {}
            for name, frame in frames(n_boot=SAMPLES, ci_quantiles=[0.025, 0.975], random_state=1):
                low, high = (each[True] for each in frame.by_group_ci)
                found |= {f"low {name}": low, f"high {name}": high}
            return found

        yield INTERVALS, "fairlearn", bootstrap


def main() -> None:
    """Print the largest difference to our values, the median time and the ratio of each task."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--identities", type=int, default=9)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    data = jigsaw_like.make(arguments.rows, arguments.identities)
    heading, reference, bare = "", {}, 0.0
    print(f"{arguments.rows:,} rows x {arguments.identities} identities, medians of {arguments.repeats}")
    for group, package, task in tasks(data):
        if group != heading:
            heading = group
            print(f"\n{group}")
        found, seconds = {}, []
        while sum(seconds) < 1 and len(seconds) < arguments.repeats:  # once if a task is slow
            start = time.perf_counter()
            found = task()
            seconds.append(time.perf_counter() - start)
        median = statistics.median(seconds)
        if package == "fairboard":
            reference, bare = found, median
        apart = max(abs(found[name] - reference[name]) for name in reference)
        print(
            f"  {package:<20}{version(package):<8}{median * 1e3:10.1f} ms{median / bare:9.1f} x"
            f"   largest difference {apart:.1e}"
        )


if __name__ == "__main__":
    main()
