"""Commands without an API endpoint: canary rows, accounts, administrators, login links."""

from pathlib import Path
from urllib.parse import urlencode

import click

from grader import db
from grader.canaries import LEAST, MOST, least_chance
from grader.cli.installation import Installation, opened
from grader.cli.parameters import LocalPath
from grader.models import Competition, CompetitionState
from grader.services.accounts import accounts, administrators, logins
from grader.services.audit.log import Actor, operator
from grader.services.competitions import acting, lookup
from grader.services.competitions.metric import Rules
from grader.services.people import names
from grader.services.rescoring import versions
from grader.services.setup.drafts import NotDraft
from grader.services.solutions import assessment, canary_rows, intake, publication
from grader.services.solutions.assessment import LiveSolution
from grader.services.solutions.canary_rows import CanaryRequest

OUT = LocalPath(dir_okay=False)


@click.command()
@click.argument("slug")
@click.option(
    "--draw",
    "count",
    type=int,
    help=f"The number of canary rows to generate for a draft: {LEAST} to {MOST}, even.",
)
@click.option(
    "--from-scored",
    is_flag=True,
    help="Also use public and private rows if too few rows are Ignored; these rows no longer affect the "
    "score.",
)
@click.option(
    "--solution", "out", type=OUT, help="File to write the stored solution to, with its altered labels."
)
@click.option(
    "--list", "rows", type=OUT, help="File to write the canary rows to, with their original labels."
)
def canaries(slug: str, count: int | None, from_scored: bool, out: Path | None, rows: Path | None) -> None:
    """Show the number of canary rows of SLUG, or generate them for a draft.

    Canary rows do not affect the score. Their stored labels are random, so a file created from a leaked
    copy of the stored solution matches them. Store the list separately from the solution.
    """
    with opened() as installation:
        with installation.database.read() as session:
            competition = lookup.get(session, slug=slug)
        if count is not None:
            _draw(installation, competition, CanaryRequest.of(count, from_scored=from_scored))
        with installation.database.read() as session:
            solution = lookup.live(lookup.get(session, slug=slug)).solution
        found = len(canary_rows.read(solution.canaries))
        if out is not None:
            with out.open("wb") as target:
                target.writelines(publication.canonical_pieces(installation.storage, solution=solution))
        if rows is not None:
            rows.write_text(solution.canaries or "", encoding="utf-8", newline="")
    if not found:
        click.echo(f"{slug} has no canary rows.")
        return
    click.echo(
        f"{slug} has {found} canary rows. The probability that an honest file matches all of them is 1 in "
        f"{1 / least_chance(found):,.0f}."
    )


def _draw(installation: Installation, competition: Competition, request: CanaryRequest) -> None:
    """Generate canary rows for the solution of a draft; they replace earlier ones."""
    if competition.state is not CompetitionState.DRAFT:
        raise NotDraft(competition=competition)
    live = lookup.live(competition)
    assessed = assessment.assess_settings(
        live.solution.report,
        live=LiveSolution.load(installation.storage, live),
        rules=Rules.from_dict(live.metric_settings),
        canaries=request,
    )
    stored = intake.keep(installation.storage, assessed)
    with installation.database.write() as session:
        draft = lookup.get(session, slug=competition.slug)
        act = acting.begin(session, competition=draft, actor=Actor.shell())
        versions.set_first(**act.parts, solution=stored)


@click.command()
@click.argument("name")
@click.option("--admin", is_flag=True, help="Make the account an administrator.")
def create(name: str, admin: bool) -> None:
    """Create the account NAME and print its generated password, which is not shown again.

    \b
    fairboard user create ada --admin
    """
    with opened() as installation, installation.database.write() as session:
        passwords = accounts.password_hasher(installation.settings)
        account, password = accounts.create_user(
            session, name=name, passwords=passwords, is_admin=admin, now=db.now(session)
        )
    click.echo(f"The password of {account.name}, which is not shown again:", err=True)
    click.echo(password)


@click.command("admin")
@click.argument("name")
@click.option("--on/--off", "is_admin", default=True, help="Whether NAME is an administrator.")
def admin(name: str, is_admin: bool) -> None:
    """Make the account NAME an administrator of the site, or revoke this role with --off."""
    with opened() as installation, installation.database.write() as session:
        account = administrators.change(
            session,
            user=names.get_user(session, name=name),
            is_admin=is_admin,
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{account.name} is {'an administrator' if is_admin else 'no longer an administrator'}.")


@click.command("login-link")
@click.argument("name")
@click.option("--next", "target", default="", help="The page of the site to open after login.")
def login_link(name: str, target: str) -> None:
    """Print a link that logs NAME in; it works only once and expires after a day."""
    with opened() as installation, installation.database.write() as session:
        account = names.get_user(session, name=name)
        token = logins.create_link(session, user=account, created_by=operator(), now=db.now(session))
    query = f"?{urlencode({'next': target}, errors='replace')}" if target else ""
    click.echo(installation.link(f"/login/{token}{query}"))
