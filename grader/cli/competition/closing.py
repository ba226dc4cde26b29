"""`fairboard competition reveal`, `finalize`, `disqualify`, `reinstate` and `mark`."""

from collections.abc import Callable
from dataclasses import dataclass

import click

from grader import db
from grader.cli.competition import closing_words as words
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
    is_final=words.REVEAL_IS_FINAL,
    question=words.REVEAL_QUESTION,
    undone=words.NOTHING_REVEALED,
)
FINALIZE = _Act(
    is_refused=lambda state: state.stage is not Stage.PROVISIONAL,
    is_final=words.STANDINGS_ARE_FINAL,
    question=words.FINALIZE_QUESTION,
    undone=words.NOTHING_FINAL,
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
    click.echo(words.revealed(slug, revealed.team_count, closed_now=revealed.closed_now))
    if revealed.failed_count:
        click.echo(words.failed(revealed.failed_count))
    if revealed.competition.takes_late_submissions:
        click.echo(words.RECOVERABLE.format(slug=slug))


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
    click.echo(words.final(slug, board.number))


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
        click.echo(words.VERIFY_FIRST.format(slug=slug), err=True)
    else:
        click.echo(words.OPEN_STILL, err=True)
    if not yes and not is_answered_yes(act.question.format(slug=slug)):
        raise click.ClickException(words.ANSWER.format(undone=act.undone))
