"""`python -m tests.mutants`: mutation tests."""

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

from tests.mutants.plan import Group, Mutant, equivalents, groups, sample
from tests.mutants.workshop import KILLED, TIMED_OUT, Workshop

GOAL = 0.95


@click.command()
@click.option("--group", "names", multiple=True, help="Run only this group of groups.toml. Can be repeated.")
@click.option("--module", "modules", multiple=True, help="Run only this file of the groups. Can be repeated.")
@click.option(
    "--sample", "size", default=40, show_default=True, help="Number of mutants per module; 0 runs all."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the sample.")
@click.option("--jobs", default=2, show_default=True, help="Number of parallel processes.")
def main(names: tuple[str, ...], modules: tuple[str, ...], size: int, seed: int, jobs: int):
    """Run mutants of the rules; exit with status 1 if fewer than 95 % of a group are killed."""
    chosen = [group for name, group in groups().items() if not names or name in names]
    results = [_run(group, modules, size, seed, jobs) for group in chosen]
    sys.exit(0 if all(results) else 1)


def _run(group: Group, modules: tuple[str, ...], size: int, seed: int, jobs: int) -> bool:
    files = [path for path in group.files() if not modules or path in modules]
    if not files:
        return True
    folder = Path(tempfile.mkdtemp(prefix="fb-mutants-"))
    try:
        workshop = Workshop(folder, group, files)
        made = workshop.generate()
        stale = _stale(made)
        rules = [mutant for mutant in made if not mutant.only_rewords]
        mutants = sample(rules, size, seed)
        if not mutants:
            return True
        click.echo(
            f"{group.name}: {len(made):,} mutants; {len(made) - len(rules):,} only reword a sentence; "
            f"{len(mutants):,} of the {len(rules):,} others are run."
        )
        return _told(group, workshop.run(mutants, jobs)) and not stale
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stale(made: list[Mutant]) -> list[str]:
    """Print and return the entries of the list of equivalents that are no longer mutants."""
    functions, found = {each.function for each in made}, {each.identity for each in made}
    stale = [
        f"{each.function}: {each.becomes}"
        for each in equivalents().values()
        if each.function in functions and each.identity not in found
    ]
    for line in stale:
        click.echo(f"This entry of equivalents.toml is no longer a mutant: {line}")
    return stale


def _told(group: Group, results: dict[Mutant, str]) -> bool:
    known = equivalents()
    # A mutant that never terminates counts as killed, because its test would not terminate either.
    alive = {mutant: status for mutant, status in results.items() if status not in (KILLED, TIMED_OUT)}
    unexplained = {mutant: status for mutant, status in alive.items() if mutant.identity not in known}
    for mutant, status in unexplained.items():
        click.echo(
            f"\n{status}: {mutant.function}\n{_marked('-', mutant.was)}\n{_marked('+', mutant.becomes)}"
        )
    wrong = [each for each in results if each.identity in known and each not in alive]
    for mutant in wrong:
        click.echo(
            f"\nKilled although equivalents.toml lists it: {mutant.function}\n{_marked('+', mutant.becomes)}"
        )
    click.echo()
    counts = {path: Counter() for path in sorted({mutant.path for mutant in results})}
    for mutant in results:
        what = "alive" if mutant in unexplained else "equivalent" if mutant in alive else results[mutant]
        counts[mutant.path][what] += 1
    for path, count in counts.items():
        click.echo(f"{path:50} {_figures(count)}")
    total = sum(counts.values(), Counter())
    click.echo(f"{group.name:50} {_figures(total)}\n")
    return _share(total) >= GOAL and not wrong


def _figures(count: Counter) -> str:
    kinds = (KILLED, TIMED_OUT, "alive", "equivalent")
    return f"{' '.join(f'{count[kind]:5} {kind}' for kind in kinds)} {_share(count):7.1%}"


def _share(count: Counter) -> float:
    """Return the share of killable mutants that were killed."""
    killed = count[KILLED] + count[TIMED_OUT]
    tried = killed + count["alive"]
    return killed / tried if tried else 1.0


def _marked(sign: str, text: str) -> str:
    return "\n".join(f"    {sign} {line}" for line in text.splitlines())


if __name__ == "__main__":
    main()
