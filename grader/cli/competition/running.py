"""`fairboard competition pause`, `grant`, `announce`, `rename-team`, `retry` and `export`."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click

from grader.cli.installation import opened
from grader.cli.parameters import LocalPath, Time, text_of
from grader.services.audit.log import Actor
from grader.services.competitions import announcements, lookup, pauses
from grader.services.exports import tables
from grader.services.exports.tables import Format, Kind
from grader.services.limits import grants
from grader.services.people import names
from grader.services.scoring import retries
from grader.services.teams import moderation, rosters

FILE = LocalPath(exists=True, dir_okay=False)
CLOSE = click.option(
    "--closes", "closes_at", type=Time(), help=("Also change when the competition closes (UTC).")
)


@click.command()
@click.argument("slug")
@click.option("--message", required=True, help="The message to people who try to submit.")
@CLOSE
def pause(slug: str, message: str, closes_at: datetime | None) -> None:
    """Pause submissions to SLUG; its leaderboards stay readable."""
    with opened() as installation, installation.database.write() as session:
        paused = pauses.pause(
            session,
            competition=lookup.get(session, slug=slug),
            message=message,
            closes_at=closes_at,
            actor=Actor.shell(),
        )
    click.echo(f"Submissions to {slug} are paused. People who try to submit see: {paused.pause_message}")


@click.command()
@click.argument("slug")
@CLOSE
def resume(slug: str, closes_at: datetime | None) -> None:
    """Resume submissions to SLUG."""
    with opened() as installation, installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        pauses.resume(session, competition=competition, closes_at=closes_at, actor=Actor.shell())
    click.echo(f"Submissions to {slug} are open again.")


@click.command()
@click.argument("slug")
@click.argument("count", type=int)
@click.option("--team", help="The team; by default every team.")
@click.option("--day", type=click.DateTime(["%Y-%m-%d"]), help="The UTC day; by default today.")
@click.option("--reason", required=True, help="The reason; shown in the public log.")
def grant(slug: str, count: int, team: str | None, day: datetime | None, reason: str) -> None:
    """Give a team of SLUG, or every team, COUNT extra submissions on a day."""
    with opened() as installation, installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        whose = None
        if team is not None:
            whose = rosters.find_by_name(session, competition=competition, name=names.clean_name(team))
            if whose is None:
                raise moderation.UnknownTeam(name=team)
        made = grants.grant(
            session,
            competition=competition,
            team=whose,
            day=(day or datetime.now(UTC)).date(),
            count=count,
            reason=reason,
            actor=Actor.shell(),
        )
        until = grants.ends_at(competition, day=made.day)
    click.echo(
        f"{team or 'Every team'} can send {made.count:,} more on {made.day:%Y-%m-%d} (UTC), "
        f"until {until:%Y-%m-%d %H:%M} UTC."
    )


@click.command()
@click.argument("slug")
@click.argument("text", type=FILE)
@click.option("--title", required=True, help="The title of the announcement.")
@click.option("--mail", "by_mail", is_flag=True, help="Also send it by e-mail.")
def announce(slug: str, text: Path, title: str, by_mail: bool) -> None:
    """Post the Markdown file TEXT as an announcement on the overview of SLUG."""
    with opened() as installation, installation.database.write() as session:
        posted = announcements.post(
            session,
            competition=lookup.get(session, slug=slug),
            title=title,
            body=text_of(text),
            by_mail=by_mail,
            actor=Actor.shell(),
        )
    click.echo(f"Announcement {posted.id} is on the overview of {slug}.")


@click.command("rename-team")
@click.argument("slug")
@click.argument("team")
@click.argument("name")
@click.option("--reason", required=True, help="The reason; the team sees it.")
def rename_team(slug: str, team: str, name: str, reason: str) -> None:
    """Give TEAM of SLUG another NAME; the team cannot change it until you free it."""
    with opened() as installation, installation.database.write() as session:
        renamed = moderation.rename(
            session,
            competition=lookup.get(session, slug=slug),
            team=team,
            name=name,
            reason=reason,
            actor=Actor.shell(),
        )
    click.echo(f"{team} is now called {renamed.name}.")


@click.command("free-team-name")
@click.argument("slug")
@click.argument("team")
def free_team_name(slug: str, team: str) -> None:
    """Allow TEAM of SLUG, which organizers renamed, to choose its name again."""
    with opened() as installation, installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        freed = moderation.free_name(session, competition=competition, team=team, actor=Actor.shell())
    click.echo(f"{freed.name} can choose its name again.")


@click.command()
@click.argument("slug")
@click.argument("submission", type=int, required=False)
def retry(slug: str, submission: int | None) -> None:
    """Retry a failed SUBMISSION of SLUG, or all failed ones; a worker or the sweeper scores them."""
    with opened() as installation, installation.database.write() as session:
        competition, actor = lookup.get(session, slug=slug), Actor.shell()
        if submission is None:
            job_ids = retries.retry_all(session, competition=competition, actor=actor)
        else:
            job_ids = retries.retry(session, competition=competition, submission_id=submission, actor=actor)
    click.echo(
        "1 submission is being retried."
        if len(job_ids) == 1
        else (f"{len(job_ids):,} submissions are being retried.")
    )


@click.command()
@click.argument("slug")
@click.argument("kind", type=click.Choice([kind.value for kind in Kind]))
@click.option(
    "--format", "form", type=click.Choice([each.value for each in Format]), default="csv", show_default=True
)
@click.option("--version", "number", type=int, help="Another scoring version than the live one.")
@click.option("-o", "--output", type=LocalPath(), help="A file; by default standard output.")
def export(slug: str, kind: str, form: str, number: int | None, output: Path | None) -> None:
    """Write the submissions, standings, scores with all breakdowns, or the audit of SLUG."""
    with opened() as installation, installation.database.read() as session:
        pieces = tables.write(
            session,
            competition=lookup.get(session, slug=slug),
            kind=Kind(kind),
            format_=Format(form),
            version_number=number,
        )
        _write(pieces, output)


def _write(pieces: Iterable[str], output: Path | None) -> None:
    if output is None:
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    with output.open("w", encoding="utf-8", newline="") as file:
        file.writelines(pieces)
