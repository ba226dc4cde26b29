"""`fairboard competition reveal`, `finalize`, `disqualify`, `reinstate` and `mark`."""

from collections.abc import Callable
from dataclasses import dataclass

import click

from grader import db
from grader.cli.installation import Installation, opened
from grader.cli.questions import is_answered_yes
from grader.models import SubmissionKind
from grader.services.audit.log import Actor
from grader.services.closing import checklist, close
from grader.services.closing.checklist import CloseState
from grader.services.competitions import lookup
from grader.services.competitions.phases import Stage
from grader.services.moderation import decisions

MARKS = [SubmissionKind.NORMAL.value, SubmissionKind.BENCHMARK.value, SubmissionKind.HIDDEN.value]
RECOVERABLE = (
    "From now on late submissions are scored on both splits, and from those scores people can work out\n"
    "the labels of this test set. `fairboard competition change {slug} --no-late` stops them."
)


@dataclass(frozen=True, slots=True)
class _Act:
    """An act of the close that is asked about where what competes was not verified, in words."""

    is_refused: Callable[[CloseState], bool]
    is_final: str
    question: str
    undone: str


REVEAL = _Act(
    is_refused=lambda state: bool(
        state.stage in (Stage.PROVISIONAL, Stage.FINAL)
        or state.waiting_count
        or state.selection_open_until is not None
    ),
    is_final="A reveal cannot be undone.",
    question="Reveal {slug} without a verification?",
    undone="Nothing is revealed.",
)
FINALIZE = _Act(
    is_refused=lambda state: state.stage is not Stage.PROVISIONAL,
    is_final="Final standings stay readable forever; later changes are stored next to them.",
    question="Make the standings of {slug} final without a verification?",
    undone="Nothing is final.",
)


@click.command()
@click.argument("slug")
@click.option("--yes", is_flag=True, help="Reveal unverified standings without asking; for scripts.")
def reveal(slug: str, yes: bool) -> None:
    """Reveal the private leaderboard of SLUG to everybody; this closes a competition that is still open.

    It asks first if the competing submissions were not verified. The standings stay provisional until
    `fairboard competition finalize`.
    """
    with opened() as installation:
        _ask_where_unverified(installation, slug, REVEAL, yes=yes)
        with installation.database.write() as session:
            revealed = close.reveal(session, competition=lookup.get(session, slug=slug), actor=Actor.shell())
    closed = " It was still open and is now closed." if revealed.closed_now else ""
    click.echo(
        f"The private leaderboard of {slug} is revealed, with "
        f"{_counted(revealed.team_count, 'team')}.{closed} "
        f"It is provisional: `fairboard competition finalize {slug}` makes it final."
    )
    if revealed.failed_count:
        click.echo(
            f"{_counted(revealed.failed_count, 'submission')} failed because of an error on our "
            "side and are not ranked; the log has their incidents."
        )
    if revealed.competition.takes_late_submissions:
        click.echo(RECOVERABLE.format(slug=slug))


@click.command()
@click.argument("slug")
@click.option("--reason", default="", help="A comment stored with the standings; participants see it.")
@click.option("--yes", is_flag=True, help="Make unverified standings final without asking; for scripts.")
def finalize(slug: str, reason: str, yes: bool) -> None:
    """Store the provisional standings of SLUG as final standings 1.

    It asks first if the competing submissions were not verified. A later change, such as a rescoring, adds
    the next number; earlier ones stay readable.
    """
    with opened() as installation:
        _ask_where_unverified(installation, slug, FINALIZE, yes=yes)
        with installation.database.write() as session:
            board = close.finalize(
                session,
                competition=lookup.get(session, slug=slug),
                actor=Actor.shell(),
                reason=reason.strip(),
            )
    click.echo(f"The standings of {slug} are final. They are stored as number {board.number}.")


@click.command()
@click.argument("slug")
@click.argument("team")
@click.option("--reason", required=True, help="The reason; the team sees it.")
def disqualify(slug: str, team: str, reason: str) -> None:
    """Remove TEAM from every leaderboard of SLUG; the teams below it move up."""
    with opened() as installation, installation.database.write() as session:
        found = decisions.disqualify(
            session,
            competition=lookup.get(session, slug=slug),
            team=team,
            actor=Actor.shell(),
            reason=reason,
        )
    click.echo(f"{found.name} is disqualified in {slug}: {found.disqualification_reason}")


@click.command()
@click.argument("slug")
@click.argument("team")
def reinstate(slug: str, team: str) -> None:
    """Reinstate the disqualified TEAM on the leaderboards of SLUG."""
    with opened() as installation, installation.database.write() as session:
        found = decisions.reinstate(
            session, competition=lookup.get(session, slug=slug), team=team, actor=Actor.shell()
        )
    click.echo(f"{found.name} is back on the leaderboards of {slug}.")


@click.command()
@click.argument("slug")
@click.argument("submission", type=int)
@click.argument("kind", type=click.Choice(MARKS))
def mark(slug: str, submission: int, kind: str) -> None:
    """Make SUBMISSION of SLUG a benchmark (shown unranked), hidden (organizers only), or normal again."""
    with opened() as installation, installation.database.write() as session:
        decisions.mark(
            session,
            competition=lookup.get(session, slug=slug),
            submission_id=submission,
            kind=SubmissionKind(kind),
            actor=Actor.shell(),
        )
    click.echo(f"Submission #{submission} of {slug} is {kind}.")


def _ask_where_unverified(installation: Installation, slug: str, act: _Act, *, yes: bool) -> None:
    """Say before an act what was not verified, and ask; an act that cannot be done is refused as ever."""
    with installation.database.read() as session:
        competition, now = lookup.get(session, slug=slug), db.now(session)
        state = checklist.state(session, competition=competition, now=now)
    if state.agrees or act.is_refused(state):
        return
    click.echo(f"{state.unverified} {act.is_final}", err=True)
    if state.stage is not Stage.RUNNING:
        click.echo(f"Verify first: `fairboard competition verify {slug}`.", err=True)
    else:
        click.echo("The competition is still open and would close; you can verify it after that.", err=True)
    if not yes and not is_answered_yes(act.question.format(slug=slug)):
        raise click.ClickException(f"{act.undone} Answer y to do it, or give --yes in a script.")


def _counted(number: int, word: str) -> str:
    return f"1 {word}" if number == 1 else f"{number:,} {word}s"
