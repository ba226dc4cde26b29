"""`fairboard competition data`, `allow-data`: check data files for leaks and release them."""

from collections.abc import Mapping
from shlex import quote

import click

from grader import db
from grader.cli.competition.job_progress import ended
from grader.cli.installation import Installation, opened
from grader.errors import OrganizerError
from grader.models import DataCheckState
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.data_files import checks, findings, release
from grader.services.data_files import files as data_files
from grader.services.data_files.findings import Found

STATES = {
    DataCheckState.UNCHECKED: "not checked",
    DataCheckState.WAITING: "waiting for its check",
    DataCheckState.PASSED: "checked",
    DataCheckState.HELD: "held back",
    DataCheckState.ALLOWED: "released anyway",
}


SHOWN_SENTENCES = 6


class FilesHeld(OrganizerError):
    """Data files are held back because of their check."""

    public_name = "files_held"


@click.command()
@click.argument("slug")
def data(slug: str) -> None:
    """Check the data files of SLUG that need it, and show what each would disclose.

    The exit code is 1 if a file is held back.
    """
    with opened() as installation:
        look_through(installation, slug)
        with installation.database.read() as session:
            files = data_files.list_all(session, competition=lookup.get(session, slug=slug))
        for file in files:
            click.echo(f"{file.name}: {STATES[file.check_state]}.")
            found = findings.found_in(file)
            if file.check_state is not DataCheckState.HELD:  # of these the error tells
                for sentence in _told(found):
                    click.echo(f"- {sentence}.")
        _require_none_held(installation, slug)


@click.command(name="allow-data")
@click.argument("slug")
@click.argument("name")
@click.argument("words")
@click.option("--reason", default="", help="For the audit.")
def allow_data(slug: str, name: str, words: str, reason: str) -> None:
    """Release the data file NAME of SLUG although it is held back; WORDS say what becomes public.

    `fairboard competition data SLUG` shows the words to use. The audit records this.
    """
    with opened() as installation:
        _allow(installation, slug, name, words, reason=reason)


def check_data(installation: Installation, slug: str, *, allowed: Mapping[str, str] | None = None) -> None:
    """Check the data files that need it, here and now; raise FilesHeld where one is held back.

    `allowed` has by file what was typed to give it out all the same.
    """
    look_through(installation, slug)
    for name, words in (allowed or {}).items():
        with installation.database.read() as session:
            file = data_files.get(session, competition=lookup.get(session, slug=slug), name=name)
        if file.check_state is DataCheckState.HELD:
            _allow(installation, slug, name, words, reason="Allowed in the competition file.")
    _require_none_held(installation, slug)


def look_through(installation: Installation, slug: str) -> None:
    """Check the data files that need it, here and now, unless a running service takes them first."""
    while True:
        with installation.database.write() as session:
            competition = lookup.get(session, slug=slug)
            job = checks.request(
                session, competition=competition, now=db.now(session), actor=Actor.shell()
            ) or checks.under_way(session, competition=competition)
        if job is None:
            return
        ended(installation, job, "bytes checked")


def _allow(installation: Installation, slug: str, name: str, words: str, *, reason: str) -> None:
    with installation.database.write() as session:
        file = release.allow(
            session,
            competition=lookup.get(session, slug=slug),
            name=name,
            typed=words,
            reason=reason,
            actor=Actor.shell(),
            now=db.now(session),
        )
        found = findings.found_in(file)
    click.echo(f"{name} is released. Participants get {found.consequence}.")


def _told(found: Found) -> list[str]:
    """Return what a check found, in so many lines that a screen holds them."""
    sentences = found.sentences
    left = len(sentences) - SHOWN_SENTENCES
    more = [f"{left:,} more; the organizers' page shows them all"] if left > 0 else []
    return [*sentences[:SHOWN_SENTENCES], *more]


def _require_none_held(installation: Installation, slug: str) -> None:
    with installation.database.read() as session:
        files = data_files.list_all(session, competition=lookup.get(session, slug=slug))
    told = []
    for file in files:
        if file.check_state is DataCheckState.HELD:
            found = findings.found_in(file)
            told += [f"{file.name} is held back:", *(f"- {each}." for each in _told(found))]
            told.append(
                f"To release {file.name} anyway: fairboard competition allow-data {slug} "
                f"{quote(file.name)} {quote(found.phrase)}"
            )
    if told:
        raise FilesHeld("\n".join(told))
