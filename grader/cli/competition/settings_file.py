"""`fairboard competition create FILE.toml`, `settings`, `apply`, `clone` and `publish`."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from sqlalchemy.orm import Session

from grader import db
from grader.cli.competition.data import check_data, look_through
from grader.cli.competition.doubtful_settings import tell_of_doubts
from grader.cli.installation import Installation, opened
from grader.cli.metric.solution_report import describe
from grader.cli.parameters import LocalPath, text_of
from grader.cli.questions import yes_option
from grader.errors import FairboardError, OrganizerError
from grader.models import Competition, CompetitionState, User
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, organizers
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import NAMES, SETTINGS, CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition, sentences
from grader.services.data_files import files, release
from grader.services.people import names
from grader.services.rescoring import versions
from grader.services.setup import drafts, lifecycle, settings_file
from grader.services.setup.settings_file import CompetitionFile
from grader.services.solutions import intake, truth
from grader.services.submissions import benchmark_entries

FILE = LocalPath(exists=True, dir_okay=False)


def create_from(path: Path, *, owner: str | None, publish: bool) -> None:
    """Make a draft of a competition file with the files that it names, and publish it if asked to."""
    file = _read(path)
    slug = file.slug or path.stem
    with opened() as installation:
        with installation.database.write() as session:
            person = names.get_user(session, name=owner) if owner else None
            settings = CompetitionSettings().changed(**file.changes)
            faults = drafts.problems(session, slug=slug, settings=settings)
            _require_sound(path, file, sentences(faults, unread=file.unread))
            draft = drafts.create(
                session,
                slug=slug,
                settings=settings,
                owner=person,
                actor=Actor.shell(),
                now=(now := db.now(session)),
            )
        click.echo(f"{draft.slug} is a draft.")
        tell_of_doubts(installation, draft.slug, _told_now(NAMES, file), now)
        with _draft_stays(draft.slug, path):
            _add_files(installation, draft.slug, path, file)
            _tell_or_publish(installation, draft.slug, publish=publish)


@click.command()
@click.argument("slug")
def settings(slug: str) -> None:
    """Print the settings of SLUG as a file for `create` and `apply`."""
    with opened() as installation, installation.database.read() as session:
        found = competition_settings.of(lookup.get(session, slug=slug))
    click.echo(settings_file.write(slug, found), nl=False)


@click.command()
@click.argument("slug")
@click.argument("file", type=FILE)
@yes_option
def apply(slug: str, file: Path, yes: bool) -> None:  # noqa: ARG001 # the same words as over HTTP
    """Change the settings of SLUG to those of FILE, and add the files it names.

    Settings that FILE does not name stay as they are. If FILE changes a setting that is fixed by now, nothing
    is changed at all.
    """
    with opened() as installation:
        with installation.database.write() as session:
            competition = lookup.get(session, slug=slug)
            now = db.now(session)
            read = _read(file, before=competition_settings.of(competition))
            faults = competition_settings.refusals(competition, read.changes, now)
            _require_sound(file, read, sentences(faults, unread=read.unread))
            if read.solution and competition.state is not CompetitionState.DRAFT:
                raise drafts.NotDraft(competition=competition)
            changed = competition_settings.change(
                session, competition=competition, changes=read.changes, actor=Actor.shell(), now=now
            )
        places = sorted(SETTINGS[name].key for name in changed)
        click.echo(f"Changed: {', '.join(places) or 'nothing'}.")
        tell_of_doubts(installation, slug, _told_now(changed, read), now)
        _add_files(installation, slug, file, read)


@click.command()
@click.argument("slug")
@click.argument("new_slug")
@click.option("--title", default="", help="The new title; by default the same.")
@click.option("--without-data", is_flag=True, help="Do not copy the data files.")
@click.option("--with-solution", is_flag=True, help="Also copy the live solution.")
@click.option("--owner", help="The account that owns the new draft.")
def clone(
    slug: str, new_slug: str, title: str, without_data: bool, with_solution: bool, owner: str | None
) -> None:
    """Create a draft NEW_SLUG with the texts, limits, metric and data files of SLUG, but without dates."""
    with opened() as installation:
        with installation.database.write() as session:
            source = lookup.get(session, slug=slug)
            act: dict[str, Any] = {"actor": Actor.shell(), "now": db.now(session)}
            draft = drafts.clone(
                session,
                source=source,
                slug=new_slug,
                title=title,
                with_data=not without_data,
                owner=names.get_user(session, name=owner) if owner else None,
                **act,
            )
            if with_solution:
                versions.copy_solution(session, source=source, draft=draft, **act)
        click.echo(f"{new_slug} is a draft.")
        look_through(installation, new_slug)
        _tell_or_publish(installation, new_slug, publish=False)


@click.command()
@click.argument("slug")
def publish(slug: str) -> None:
    """Show the draft SLUG to everybody; it opens at its time."""
    with opened() as installation:
        _tell_or_publish(installation, slug, publish=True)


def _read(path: Path, *, before: CompetitionSettings = settings_file.ORDINARY) -> CompetitionFile:
    return settings_file.read(text_of(path), before=before)


def _require_sound(path: Path, file: CompetitionFile, faults: list[str]) -> None:
    """Raise InvalidCompetition with all that is unreadable, impossible, or a file that is not there."""
    absent = [path.parent / name for name in file.files if not (path.parent / name).is_file()]
    found = [*file.problems, *faults, *(f"The file {name} does not exist." for name in absent)]
    if found:
        raise InvalidCompetition(found)


def _told_now(changed: Collection[str], file: CompetitionFile) -> set[str]:
    """Return the warnings that do not need the solution; the solution's report has the others."""
    return set(changed) - ({"identities"} if file.solution else set())


@contextmanager
def _draft_stays(slug: str, path: Path) -> Iterator[None]:
    """Say how to continue if something fails after the draft was created."""
    try:
        yield
    except FairboardError:
        click.echo(
            f"{slug} stays as a draft. Once that is fixed, `fairboard competition apply {slug} {path}` goes "
            f"on; `fairboard competition delete {slug}` deletes it.",
            err=True,
        )
        raise


def _add_files(installation: Installation, slug: str, path: Path, file: CompetitionFile) -> None:
    if file.solution:
        _set_solution(installation, slug, path.parent / file.solution, file.label)
    for name in file.data:
        with (path.parent / name).open("rb") as stream:
            blob = installation.storage.put(stream, max_bytes=files.MAX_BYTES)
        _write(installation, slug, files.add, name=name, blob=blob)
        click.echo(f"{Path(name).name} is a data file.")
    if file.data or file.solution or file.allowed:
        check_data(installation, slug, allowed=file.allowed)
    if file.baseline:
        _add_baseline(installation, slug, path.parent / file.baseline)


def _write(installation: Installation, slug: str, act: Any, **arguments: Any) -> None:
    with installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        act(session, competition=competition, actor=Actor.shell(), now=db.now(session), **arguments)


def _set_solution(installation: Installation, slug: str, path: Path, label: str | None) -> None:
    from grader.cli.metric.solution_roles import read_with_roles

    with installation.database.read() as session:
        choice = competition_settings.of(lookup.get(session, slug=slug)).metric_choice
    stored = intake.store(
        installation.storage,
        read_with_roles(path, {}, label=label, identities=choice.identities),
        split_key=truth.key_of(installation.settings.secret(), slug),
        settings=choice.metric,
        identities=choice.identities,
        min_class_rows=choice.min_class_rows,
    )
    intake.require_no_stop(stored)
    _write(installation, slug, versions.set_first, solution=stored)
    click.echo(describe(stored))


def _add_baseline(installation: Installation, slug: str, path: Path) -> None:
    with path.open("rb") as stream:
        blob = installation.storage.put(stream)
    with installation.database.write() as session:
        competition = lookup.get(session, slug=slug)
        benchmark_entries.add(
            session,
            competition=competition,
            blob=blob,
            file_name=path.name,
            user=_somebody(session, competition),
            actor=Actor.shell(),
            now=db.now(session),
        )
    click.echo(f"{path.name} is a benchmark.")


def _somebody(session: Session, competition: Competition) -> User:
    """Return in whose name a file is entered: the first organizer's."""
    found = organizers.list_all(session, competition=competition)
    if not found:
        raise OrganizerError("A baseline is entered in an organizer's name: give the draft an --owner.")
    return found[0].user


def _tell_or_publish(installation: Installation, slug: str, *, publish: bool) -> None:
    """Publish a draft; or say what is missing before it can be."""
    if publish:
        check_data(installation, slug)
        with installation.database.write() as session:
            benchmark_entries.publish(
                session,
                storage=installation.storage,
                competition=lookup.get(session, slug=slug),
                actor=Actor.shell(),
                now=db.now(session),
            )
        click.echo(f"{slug} is published.")
        return
    with installation.database.read() as session:
        draft = lookup.get(session, slug=slug)
        missing = lifecycle.missing(draft, now=db.now(session))
        missing += release.faults(session, competition=draft)
    for fault in missing:
        click.echo(f"- {fault.sentence}")
    if not missing:
        click.echo(f"Nothing is missing: `fairboard competition publish {slug}` publishes it.")
