"""`fairboard competition change` (dates, limits) and `admit` (requests to join)."""

from typing import Any

import click

from grader import db
from grader.cli.competition.condition_options import condition_options, given
from grader.cli.competition.doubtful_settings import tell_of_doubts
from grader.cli.installation import opened
from grader.cli.parameters import Deadline
from grader.cli.questions import yes_option
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, settings
from grader.services.people import names
from grader.services.teams import admissions


@click.command()
@click.argument("slug")
@click.option("--closes", "closes_at", type=Deadline(), help="When it closes (UTC).")
@condition_options
@yes_option
def change(slug: str, yes: bool, **options: Any) -> None:  # noqa: ARG001 # the same words as over HTTP
    """Change dates, limits, entry or rules of SLUG; everything else stays as it is.

    Changed rules get a new version, which people must accept before their next submission.
    """
    changes = given(options)
    if not changes:
        raise click.UsageError("Give at least one option to change; `--help` lists them.")
    with opened() as installation:
        with installation.database.write() as session:
            competition = lookup.get(session, slug=slug)
            version = competition.rules_version
            now = db.now(session)
            changed = settings.change(
                session, competition=competition, changes=changes, actor=Actor.shell(), now=now
            )
            is_new_version = competition.rules_version != version
        click.echo(f"Changed {slug}.")
        tell_of_doubts(installation, slug, changed, now)
    if is_new_version:
        click.echo(
            f"The rules are now version {competition.rules_version}; everybody must accept them again."
        )


@click.command()
@click.argument("slug")
@click.argument("user")
@click.option("--refuse", is_flag=True, help="Do not admit the account.")
def admit(slug: str, user: str, refuse: bool) -> None:
    """Admit the account USER to SLUG, whether it has asked to join or not."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=user)
        admissions.decide(
            session,
            competition=lookup.get(session, slug=slug),
            user=account,
            admits=not refuse,
            actor=Actor.shell(),
        )
    click.echo(f"{account.name} is {'not admitted' if refuse else 'admitted'} to {slug}.")
