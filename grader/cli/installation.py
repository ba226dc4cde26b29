"""Access to the local installation: database, schema check, errors as sentences."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
from sqlalchemy import make_url
from sqlalchemy.exc import DatabaseError, InternalError, OperationalError, SQLAlchemyError

from grader.cli.configuration import installed_settings, make_data_folder
from grader.db import Database
from grader.maintenance import schema
from grader.settings import PREFIX, Settings
from grader.storage import disk
from grader.storage.stores import Storage, StorageUnavailable, open_storage
from grader.supervisor import lock

NO_PERMISSION, NO_SCHEMA, TOO_LONG = "42501", "3F000", "22001"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True)
class Installation:
    """An open installation."""

    settings: Settings
    database: Database
    storage: Storage

    def link(self, path: str) -> str:
        """Return the URL of a page of the site."""
        return (self.settings.base_url or self.address()).rstrip("/") + path

    def address(self) -> str:
        """Return the address at which this machine reaches the site, without proxies."""
        return lock.address(self.settings.data_dir) or self.settings.own_address()


@contextmanager
def opened(*, with_newer_tables: bool = False) -> Iterator[Installation]:
    """Open the installation that the settings name; raise ClickException if there is none.

    During a rolling upgrade, the tables may be newer than this version.
    """
    settings = installed_settings()
    url = make_url(settings.database())
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
        raise _no_site(settings)
    with opened_database(settings) as database:
        current = schema.current(database)
        if current is None:
            raise _no_site(settings)
        if current != schema.head() and not (with_newer_tables and schema.is_usable(database)):
            raise click.ClickException(schema.difference(current))
        yield Installation(settings, database, open_storage(settings.storage()))


def _no_site(settings: Settings) -> click.ClickException:
    where = "The database" if settings.database_url else f"The data folder {settings.data_dir.absolute()}"
    return click.ClickException(
        f"{where} contains no site. Set {PREFIX}DATA_DIR and the other settings of the installation, or "
        "create a site first with `fairboard serve` or `fairboard migrate`."
    )


@contextmanager
def opened_database(settings: Settings) -> Iterator[Database]:
    """Open the database without checking its schema."""
    make_data_folder(settings)
    database = Database.of(settings, pool_size=2)
    try:
        with database_failures_in_a_sentence(), storage_failures_in_a_sentence():
            yield database
    finally:
        database.dispose()


@contextmanager
def database_failures_in_a_sentence() -> Iterator[None]:
    """Turn the errors of an unreachable or damaged database into a ClickException."""
    try:
        yield
    except OperationalError as error:
        if disk.is_full(error):
            raise click.ClickException(disk.FULL) from error
        reason = " ".join(str(error.orig).split())
        hint = f"Check that it is running and that its URL ({PREFIX}DATABASE_URL) is correct."
        if isinstance(error.orig, sqlite3.Error):
            hint = "Check its disk, the permissions of its file and folder, and which processes use it."
        raise click.ClickException(f"The database cannot be used: {reason}. {hint}") from error
    except DatabaseError as error:
        state = getattr(error.orig, "sqlstate", None)
        # A read-only PostgreSQL replica raises InternalError. Wrong options of a URL precede all statements.
        is_wrong_url = error.statement is None and not isinstance(error.orig, sqlite3.Error)
        is_unusable = isinstance(error, InternalError) or state in (NO_PERMISSION, NO_SCHEMA, TOO_LONG)
        if is_unusable or is_wrong_url:
            reason = str(error.orig).partition("\n")[0]
            raise click.ClickException(f"The database cannot be used: {reason}.") from error
        if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF not in _DAMAGED:
            raise
        raise click.ClickException(
            f"The database is damaged ({error.orig}). Move it elsewhere and restore a backup with "
            "`fairboard restore`."
        ) from error


@contextmanager
def storage_failures_in_a_sentence() -> Iterator[None]:
    """Turn the errors of an unreachable storage into a ClickException."""
    try:
        yield
    except StorageUnavailable as error:
        raise click.ClickException(f"The storage cannot be used: {error}") from error


@contextmanager
def running_out_of_room_in_a_sentence() -> Iterator[None]:
    """Turn the error of a full disk into a ClickException."""
    try:
        yield
    except (OSError, SQLAlchemyError) as error:
        if not disk.is_full(error):
            raise
        raise click.ClickException(disk.FULL) from error
