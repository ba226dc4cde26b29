"""Benchmark of all feedback modes: leaks to attackers, utility for honest teams, cost.

Run ``python benchmarks/fair_play.py``. The options `--modes`, `--files`, `--seeds`, `--rows` and `--step`
restrict it. All competitions are simulated by `grader.simulation`. Every figure is a mean over competitions
with its 95 % interval.
"""

import os

# As in a worker. This must be set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from grader.feedback import Rule, basis_of
from grader.files import read_label_predictions, read_solution
from grader.metrics import count_ranks, dense_ranks, report
from grader.metrics.analysis.influence import Sets
from grader.metrics.analysis.label_effects import label_effects
from grader.simulation import ATTACKS, Honest, drawn, proposed_step, run
from grader.simulation.trials import Attacked, Mean, Trial
from grader.visibility import Feedback, Step

COST_AT_MOST = 2.0


def main() -> None:
    options = _options()
    if not options.only_cost:
        step = Step(options.step) if options.step else proposed_step(drawn(0, options.rows))
        rules = [Rule(Feedback(mode), step.units) for mode in options.modes.split(",")]
        for number, files in enumerate(options.files):
            print(f"\n{options.rows:,} rows, {options.seeds} competitions, {files} files, step {step.value}")
            trials = run(
                lambda seed: drawn(options.first_seed + seed, options.rows),
                rules,
                files=files,
                seeds=options.seeds,
                team_count=0 if number else options.teams,
                attacks=[name for name in options.attacks.split(",") if name in ATTACKS],
            )
            for trial in trials:
                _print(trial)
    _print_costs(options.rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--modes", default=",".join(mode.value for mode in Feedback))
    parser.add_argument("--files", type=int, nargs="+", default=[60, 300])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--first-seed", type=int, default=0, help="use other seeds than those used to tune parameters"
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--teams", type=int, default=50)
    parser.add_argument("--step", choices=[step.value for step in Step])
    parser.add_argument(
        "--attacks", default=",".join(ATTACKS), help="names of attacks; an empty value omits them"
    )
    parser.add_argument("--only-cost", action="store_true")
    return parser.parse_args()


def _print(trial: Trial) -> None:
    print(f"\n{trial.mode}")
    for each in trial.attacks:
        print(f"  {each.name:<36}{_figures(each)}")
    if trial.honest is not None:
        seen = trial.honest
        shares = (seen.seen, seen.clear, seen.false)
        print("  honest: shown improvements, those beyond 2 SE, other shown files, rank correlation")
        print("          " + "   ".join([*(_mean(each, 3) for each in shares), _mean(seen.correlation, 3)]))


def _figures(found: Attacked) -> str:
    if found.boost is not None:
        shown = "" if found.shown is None else f", as shown {_mean(found.shown, 2)}"
        return f"boost {_mean(found.boost, 2)} SE{shown}"
    if found.points is None or found.lift is None:
        return "-"
    return (
        f"{found.rows:>5} rows, right {found.right:.3f}, without {found.baseline:.3f}: "
        f"{_mean(found.points, 1)} points, lift {_mean(found.lift, 4)}"
    )


def _mean(mean: Mean, decimals: int) -> str:
    error = "" if mean.error is None else f" ± {mean.error:.{decimals}f}"
    return f"{mean.value:.{decimals}f}{error}"


def _print_costs(rows: int) -> None:
    """Measure how long a worker takes for a file; in coarse modes, include the basis."""
    competition = drawn(0, rows)
    honest = Honest(competition, 0)
    file = honest.predictions(honest.model(np.random.default_rng(1), 0.3))
    sets = Sets(competition.split)
    with tempfile.TemporaryDirectory() as folder:
        solution, path = Path(folder, "solution.csv"), Path(folder, "file.csv")
        labels = [f"row{number},{int(label)}" for number, label in enumerate(competition.labels)]
        solution.write_text("\n".join(["id,target", *labels]))
        lines = [f"row{number},{value:.6f}" for number, value in enumerate(file)]
        path.write_text("\n".join(["id,prediction", *lines]))
        row_ids = read_solution(solution, label="target", identities=()).row_ids

        def score(*, with_basis: bool) -> float:
            start = time.perf_counter()
            predictions = read_label_predictions(path, row_ids, label="target", other_labels=())
            ranks = dense_ranks(predictions.by_label["target"])
            public = ranks[competition.public]
            found = report(count_ranks(sets.ranked, public), competition.settings)
            # This stands for the private split, which has the same size.
            report(count_ranks(sets.ranked, public), competition.settings)
            if with_basis:
                effects = label_effects(sets, public, found, competition.settings)
                basis_of(ranks, effects, key=competition.key)
            return time.perf_counter() - start

        score(with_basis=True)
        plain, coarse = (median(score(with_basis=kind) for _ in range(15)) for kind in (False, True))
    verdict = "at most" if coarse <= COST_AT_MOST * plain else "MORE THAN"
    print(
        f"\nscoring {rows:,} rows: {1000 * plain:.1f} ms in open mode, {1000 * coarse:.1f} ms in ladder mode:"
    )
    print(f"{coarse / plain:.2f} times as long, {verdict} {COST_AT_MOST:g} times")


if __name__ == "__main__":
    main()
