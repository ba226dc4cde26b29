"""Publish or roll back a scoring version in the shell, after showing its difference."""

from collections.abc import Callable

import click
from sqlalchemy.orm import Session

from grader.cli.installation import Installation
from grader.cli.questions import is_answered_yes
from grader.crash_points import reach
from grader.models import Competition, ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.rescoring import difference, preparation
from grader.services.rescoring.difference import Compared
from grader.services.rescoring.summary import Summary


class Agreement:
    """What somebody has said yes to; with it nobody is asked twice about the same difference."""

    def __init__(self) -> None:
        self.digest: str | None = None


class _Unconfirmed(Exception):
    """A switch that was tried and undone, because nobody has said yes to what it changes."""

    def __init__(self, summary: Summary) -> None:
        super().__init__(summary.text)
        self.summary = summary


def switch_confirmed(
    installation: Installation,
    competition: Competition,
    number: int,
    act: Callable[[Session], ScoringVersion],
    *,
    reached: str,
    yes: bool,
    agreement: Agreement | None = None,
) -> ScoringVersion:
    """Switch the leaderboards; first show the difference and ask, unless `yes`.

    What refuses the act comes before the question. A difference that is another one when the answer comes is
    told and asked for again. Where the version is only prepared nothing is asked. An `agreement` keeps the
    answer for the next try, where the act was refused after it.
    """
    agreement = agreement or Agreement()
    while True:
        try:
            version, summary = _try(installation, competition, number, act, agreement.digest, yes=yes)
        except _Unconfirmed as unconfirmed:
            if agreement.digest is not None:
                click.echo("The difference has changed in the meantime. Nothing is switched yet.")
            click.echo(unconfirmed.summary.text)
            agreement.digest = unconfirmed.summary.digest
            question = f"Switch every leaderboard of {competition.slug} to scoring version {number}?"
            if not is_answered_yes(question):
                raise click.ClickException(
                    "Nothing was switched. Answer y to switch, or give --yes in a script."
                ) from None
        else:
            reach(reached)
            if yes and version.state is ScoringVersionState.LIVE:
                click.echo(summary.text)
            return version


def _try(
    installation: Installation,
    competition: Competition,
    number: int,
    act: Callable[[Session], ScoringVersion],
    agreed: str | None,
    *,
    yes: bool,
) -> tuple[ScoringVersion, Summary]:
    with installation.database.write() as session:
        locked = lookup.lock(session, competition_id=competition.id)
        version = preparation.get(session, competition=locked, number=number)
        versions = Compared(lookup.live(locked), version)
        summary = Summary.of(difference.preview(session, competition=locked, versions=versions))
        version = act(session)
        if not yes and version.state is ScoringVersionState.LIVE and summary.digest != agreed:
            raise _Unconfirmed(summary)
        return version, summary
