"""`fairboard simulate`: simulation of attackers and honest teams on a solution."""

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from grader.cli.metric.solution_roles import read_with_roles, role_option
from grader.cli.output import show_json
from grader.cli.parameters import INPUT_FILE, evaluation_command, metric_settings
from grader.visibility import Feedback, Step

if TYPE_CHECKING:
    from grader.files import Solution
    from grader.metrics import MetricSettings
    from grader.simulation import Competition, Trial
    from grader.simulation.trials import Attacked, Progress

SECONDS_BETWEEN_LINES = 5
MODES = [mode.value for mode in Feedback]
DEFAULT_MODES = ("open", "score", "ladder")


@evaluation_command
@click.argument("solution", type=INPUT_FILE)
@click.option(
    "--mode",
    "modes",
    type=click.Choice(MODES),
    multiple=True,
    help="A feedback mode to simulate. May be repeated.  [default: open, score and ladder]",
)
@click.option(
    "--step",
    type=click.Choice([step.value for step in Step]),
    help="The step for the tiered, ladder and noised modes. [default: a safe step for these rows]",
)
@click.option(
    "--files",
    type=click.IntRange(2, 1000),
    default=60,
    metavar="N",
    help="The number of files that a team may submit in total.",
)
@click.option(
    "--teams",
    type=click.IntRange(0, 500),
    default=20,
    metavar="N",
    help="The number of honest teams; 0 for none.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    metavar="N",
    help="The number of repetitions with different models. More repetitions narrow the intervals.",
)
@role_option
def simulate(**options: Any) -> None:
    """Simulate what attackers learn and what honest teams see in each feedback mode on SOLUTION.

    \b
    fairboard simulate solution.csv
    fairboard simulate solution.csv --mode ladder --step 0.005 --files 300 --seeds 20

    No data leaves this machine. The simulated attackers know the ids, the identities of each row and the
    predictions of their own model, and receive scores as they would from a site. Without a Usage column, each
    seed makes a different random half of the rows public. A run takes about a minute for 20,000 rows.
    """
    from grader.feedback import Rule
    from grader.simulation import proposed_step, run

    chosen = SimpleNamespace(**options)
    settings = metric_settings(chosen.power, chosen.weights, chosen.threshold, "skip")
    columns = {"label": chosen.label, "identities": chosen.identities}
    found = read_with_roles(chosen.solution, dict(chosen.roles), only_these=True, **columns)
    if not found.identities:
        raise click.ClickException("The solution has no identities, so there is nothing to attack.")
    try:
        step = Step(chosen.step) if chosen.step else proposed_step(_competition(found, settings, 0))
        rules = [Rule(Feedback(mode), step.units) for mode in dict.fromkeys(chosen.modes or DEFAULT_MODES)]
        trials = run(
            lambda seed: _competition(found, settings, seed),
            rules,
            files=chosen.files,
            seeds=chosen.seeds,
            team_count=chosen.teams,
            progress=_Progress().show,
        )
    except ValueError as error:
        raise click.ClickException(str(error)) from error
    if chosen.as_json:
        show_json([trial.as_dict() for trial in trials])
        return
    for trial in trials:
        click.echo("\n".join(_sentences(trial)) + "\n")


def _competition(solution: "Solution", settings: "MetricSettings", seed: int) -> "Competition":
    """Return a competition from the scored rows; if there is no `Usage`, the seed determines the splits."""
    import numpy as np

    from grader.simulation import Competition
    from grader.simulation.competitions import PUBLIC_SHARE

    rng = np.random.default_rng([17, seed])
    usage = solution.usage
    if usage is None:
        usage = np.where(rng.random(solution.labels.size) < PUBLIC_SHARE, 1, 2).astype(np.int8)
    counts = usage > 0
    return Competition(
        solution.labels[counts] >= settings.label_threshold,
        {name: values[counts] >= settings.identity_threshold for name, values in solution.identities.items()},
        usage[counts] == 1,
        key=rng.bytes(32),
        settings=settings,
    )


class _Progress:
    """Prints progress messages on stderr every few seconds."""

    def __init__(self) -> None:
        self._said_at = time.monotonic()

    def show(self, done: int, total: int) -> None:
        """Print the progress if several seconds have passed."""
        if done == total or time.monotonic() - self._said_at >= SECONDS_BETWEEN_LINES:
            click.echo(f"{done} of {total} parts simulated", err=True)
            self._said_at = time.monotonic()


def _sentences(trial: "Trial") -> list[str]:
    step = f" with a step of {trial.step:g}" if trial.step is not None else ""
    lines = [f"{trial.mode}{step}, {trial.files} files per account, {_times(trial.competitions)}"]
    lines += [f"  {each.name}: {_learnt(each)}" for each in trial.attacks]
    if trial.honest is not None:
        lines += [f"  honest teams: {line}" for line in _seen(trial.honest)]
    return lines


def _times(count: int) -> str:
    return "simulated once" if count == 1 else f"simulated {count} times"


def _learnt(found: "Attacked") -> str:
    if found.boost is not None:
        return f"random files score {found.boost.value:.1f} standard errors above chance."
    if found.points is None or found.right is None or found.baseline is None:
        return "no target in this solution."
    between = "" if found.points.error is None else f" ± {found.points.error:.1f}"
    right, without = f"{100 * found.right:.1f} %", f"{100 * found.baseline:.1f} % without submitting"
    if found.points.low <= 0:
        return f"no measurable gain: {right} of {found.rows} hidden labels correct, {without}."
    gained = f"{found.points.value:.1f}{between} points gained"
    return f"{right} of {found.rows} hidden labels correct, {without}: {gained}."


def _seen(found: "Progress") -> list[str]:
    return [
        f"{100 * found.seen.value:.0f} % of all true improvements are shown as a new best, and "
        f"{100 * found.clear.value:.0f} % of those above two standard errors.",
        f"{100 * found.false.value:.0f} % of the files without an improvement are also shown as a new best.",
        f"the public leaderboard has a rank correlation of {found.correlation.value:.2f} with the true "
        "ranking.",
    ]
