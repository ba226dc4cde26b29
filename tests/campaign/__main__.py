"""Command `python -m tests.campaign`: fault injection with invariant checks."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from tests.campaign.campaign import run
from tests.campaign.mutations import MUTANTS, SITE, VARIABLE
from tests.campaign.plan import DatabaseKind, Plan

IN_OWN_MOUNTS = "FAIRBOARD_CAMPAIGN_MOUNTS"
DISK_MB = 700


@click.command()
@click.option("--seconds", default=20.0, help="Minimum duration of the faults.")
@click.option("--uploads", default=0, help="Continue until this many uploads are acknowledged.")
@click.option("--rows", default=2000, help="Number of rows in each file.")
@click.option("--faults", default=0, help="Number of faults in this duration. The default is one per 1.5 s.")
@click.option("--clients", default=6)
@click.option("--team-limit", default=100, help="Number of files that each team may submit.")
@click.option("--seed", default=1)
@click.option("--database", type=click.Choice([kind.value for kind in DatabaseKind]), default="sqlite")
@click.option("--lease-seconds", default=40)
@click.option("--hasty", "is_hasty", is_flag=True, help="Run the sweeper every second.")
@click.option("--patience-seconds", default=60.0, help="Maximum time for all jobs to end.")
@click.option("--only", multiple=True, help="Use only this fault, such as 'broker flushed'. May be repeated.")
@click.option(
    "--mutation", type=click.Choice(["", *MUTANTS]), default="", help="Break the service on purpose."
)
@click.option("--keep", is_flag=True, help="Keep the folder and print its path.")
def main(keep: bool, database: str, **options: object):
    """Run one campaign; exit with status 1 unless every invariant holds."""
    plan = Plan(database=DatabaseKind(database), **options)  # type: ignore[arg-type]
    _begin_again(plan.mutation)
    folder = Path(tempfile.mkdtemp(prefix="fb-campaign-"))
    has_disk = _mount_disk(folder / "var", DISK_MB + plan.uploads * plan.rows // 10_000)
    try:
        report = run(plan, folder)
        click.echo(report.text())
        if not has_disk:
            click.echo("(The disk fault was skipped. It needs `unshare` and permission to mount a disk.)")
    finally:
        if has_disk and keep:
            shutil.copytree(folder / "var", folder / "kept", ignore=shutil.ignore_patterns("filler"))
        if has_disk:
            subprocess.run(["umount", "--lazy", folder / "var"], check=False)
        if keep:
            click.echo(f"The campaign's files are in {folder}.", err=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if report.is_green else 1)


def _begin_again(mutation: str):
    """Restart in a process with the mutation and, if permitted, its own mounts."""
    if IN_OWN_MOUNTS in os.environ:
        return
    can_mount = (
        shutil.which("unshare") is not None
        and subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode == 0
    )
    variables = {IN_OWN_MOUNTS: "yes" if can_mount else "no"}
    if mutation:
        variables |= {VARIABLE: mutation, "PYTHONPATH": os.pathsep.join([str(SITE), str(Path.cwd())])}
    again = [sys.executable, "-m", "tests.campaign", *sys.argv[1:]]
    command = ["unshare", "--mount", *again] if can_mount else again
    os.execvpe(command[0], command, os.environ | variables)


def _mount_disk(folder: Path, megabytes: int) -> bool:
    folder.mkdir()
    if os.environ[IN_OWN_MOUNTS] != "yes":
        return False
    options = f"size={megabytes}m,mode=700"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=False)
    return done.returncode == 0


if __name__ == "__main__":
    main()
