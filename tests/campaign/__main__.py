"""Command `python -m tests.campaign`: fault injection with invariant checks."""

import sys
import tempfile
from pathlib import Path

import click

from tests.campaign.campaign import Campaign
from tests.campaign.installation import installed
from tests.campaign.plan import DatabaseKind, Plan


@click.command()
@click.option("--seconds", default=20.0, help="Minimum duration of the faults.")
@click.option("--uploads", default=0, help="Continue until this many uploads are acknowledged.")
@click.option("--rows", default=2000, help="Number of rows in each file.")
@click.option("--faults", default=0, help="Number of faults in this duration. The default is one per 1.5 s.")
@click.option("--seed", default=1, help="Determines the faults, their order and the files.")
@click.option("--database", type=DatabaseKind, metavar="[sqlite|postgresql]", default="sqlite")
@click.option("--hasty", "is_hasty", is_flag=True, help="Shorten leases and the intervals of the sweeper.")
@click.option("--patience-seconds", default=60.0, help="Maximum time for all jobs to end.")
@click.option("--only", multiple=True, help="Use only this fault, such as 'broker flushed'. May be repeated.")
def main(**options):
    """Run one campaign; exit with status 1 unless every invariant holds."""
    plan = Plan(**options)
    with (
        tempfile.TemporaryDirectory(prefix="fb-campaign-") as folder,
        installed(plan, Path(folder)) as (installation, server),
    ):
        campaign = Campaign(plan, installation, server)
        campaign.run()
        click.echo(campaign.report())
    sys.exit(0 if campaign.is_green else 1)


if __name__ == "__main__":
    main()
