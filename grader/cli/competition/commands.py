"""`fairboard competition create` with options, and `list`."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from sqlalchemy.orm import Session

from grader import db
from grader.cli.competition.canaries import canaries
from grader.cli.competition.closing import disqualify, finalize, mark, reinstate, reveal
from grader.cli.competition.condition_options import condition_options, given
from grader.cli.competition.creation_options import creation_options
from grader.cli.competition.data import allow_data, data
from grader.cli.competition.doubtful_settings import tell_of_doubts
from grader.cli.competition.entry import admit, change
from grader.cli.competition.lifecycle import archive, delete, unarchive
from grader.cli.competition.organizers import create_accounts, organizer, show_audit
from grader.cli.competition.results import bundle, publish_solution, receipt, verify
from grader.cli.competition.running import (
    announce,
    export,
    free_team_name,
    grant,
    pause,
    rename_team,
    resume,
    retry,
)
from grader.cli.competition.settings_file import apply, clone, create_from, publish, settings
from grader.cli.group import SubcommandGroup
from grader.cli.installation import Installation, opened
from grader.cli.metric.check import check
from grader.cli.metric.metric_options import metric_options, metric_settings
from grader.cli.metric.solution_report import describe
from grader.cli.parameters import LocalPath, WeightsInAnyForm, text_of
from grader.models import Competition
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, phases
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import DATES, CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition, sentences
from grader.services.people import names
from grader.services.rescoring import versions
from grader.services.setup import drafts, lifecycle
from grader.services.solutions import intake, truth
from grader.services.solutions.intake import StoredSolution
from grader.services.submissions import benchmark_entries

if TYPE_CHECKING:
    from grader.metrics import MetricSettings, Weights

FILE = LocalPath(exists=True, dir_okay=False)


@click.group(cls=SubcommandGroup)
def competition() -> None:
    """Create, list, change, moderate, reveal and finalize competitions."""


for command in (
    check,
    canaries,
    settings,
    apply,
    clone,
    publish,
    change,
    admit,
    reveal,
    finalize,
    verify,
    bundle,
    publish_solution,
    receipt,
    data,
    allow_data,
    archive,
    unarchive,
    delete,
    disqualify,
    reinstate,
    mark,
    organizer,
    create_accounts,
    show_audit,
    pause,
    resume,
    grant,
    announce,
    rename_team,
    free_team_name,
    retry,
    export,
):
    competition.add_command(command)


@competition.command(cls=WeightsInAnyForm)
@creation_options
@condition_options
@metric_options
def create(
    slug: str,
    solution: Path | None,
    title: str | None,
    overview: Path | None,
    label: str | None,
    identities: tuple[str, ...] | None,
    opens_at: datetime | None,
    closes_at: datetime | None,
    power: float,
    weights: "Weights",
    threshold: float,
    owner: str | None,
    is_published: bool,
    **options: Any,
) -> None:
    """Create the competition SLUG, which is the last part of its address; or a draft from a file SLUG.toml.

    Without a Usage column we split the rows in half, evenly for every label and identity.
    """
    if slug.endswith(".toml"):
        _refuse_others(click.get_current_context(), allowed={"slug", "owner", "is_published"})
        create_from(_existing(slug), owner=owner, publish=is_published)
        return
    if solution is None or title is None:
        raise click.UsageError("Give a --solution and a --title, or a FILE.toml.")
    if is_published:
        raise click.UsageError("--publish is for a FILE.toml.")
    metric = metric_settings(power, weights, threshold)
    settings = CompetitionSettings().changed(
        title=title,
        overview=text_of(overview) if overview else "",
        opens_at=opens_at,
        closes_at=closes_at,
        identities=identities,
        metric=metric,
        **given(options),
    )
    with opened() as installation:
        with installation.database.read() as session:  # before a large file is read
            person = names.get_user(session, name=owner) if owner else None
            _require_possible(session, slug, settings)
        stored = _stored(installation, slug, solution, metric, label=label, identities=identities)
        with installation.database.write() as session:
            now = db.now(session)
            act: dict[str, Any] = {"actor": Actor.shell(), "now": now}
            draft = drafts.create(session, slug=slug, settings=settings, owner=person, **act)
            versions.set_first(session, competition=draft, solution=stored, **act)
            benchmark_entries.publish(session, storage=installation.storage, competition=draft, **act)
        click.echo(describe(stored))
        click.echo(f"\n{draft.slug} {_times(draft)}.")
        chosen = [name for name in DATES if name != "opens_at" or opens_at is not None]
        tell_of_doubts(installation, slug, [*chosen, "feedback_step"], now)


def _stored(
    installation: Installation,
    slug: str,
    path: Path,
    settings: "MetricSettings",
    *,
    label: str | None,
    identities: tuple[str, ...] | None,
) -> StoredSolution:
    """Read a solution and store it; raise where nobody could be scored with it."""
    from grader.cli.metric.solution_roles import read_with_roles

    stored = intake.store(
        installation.storage,
        read_with_roles(path, {}, label=label, identities=identities),
        split_key=truth.key_of(installation.settings.secret(), slug),
        settings=settings,
        identities=identities,
    )
    intake.require_no_stop(stored)
    return stored


def _require_possible(session: Session, slug: str, settings: CompetitionSettings) -> None:
    """Raise InvalidCompetition with everything that keeps it from being made and published."""
    faults = lifecycle.unpublishable(competition_settings.cleaned(settings), now=db.now(session))
    problems = lookup.slug_problems(session, slug) + sentences(faults)
    if problems:
        raise InvalidCompetition(problems)


@competition.command("list")
def list_all() -> None:
    """List all competitions, newest first."""
    with opened() as installation, installation.database.read() as session:
        now = db.now(session)
        for found in lookup.list_all(session):
            click.echo(f"{found.slug}\t{phases.state(found, now)}\t{_times(found)}\t{found.title}")


def _existing(path: str) -> Path:
    file = Path(path)
    if not file.is_file():
        raise click.UsageError(f"The file {path} does not exist.")
    return file


def _refuse_others(context: click.Context, *, allowed: set[str]) -> None:
    """Raise if an option was given that a file says itself."""
    given_here = [
        name
        for name in context.params
        if name not in allowed and context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given_here:
        raise click.UsageError(
            "With a FILE.toml, only --owner and --publish can be given here; everything else goes into "
            "the file."
        )


def _times(competition: Competition) -> str:
    opens_at, closes_at = competition.opens_at, competition.closes_at
    begin = f"opens {opens_at:%Y-%m-%d %H:%M} UTC" if opens_at else "opens when it is published"
    until = f"closes {closes_at:%Y-%m-%d %H:%M} UTC" if closes_at else "has no closing date"
    return f"{begin}, {until}"
