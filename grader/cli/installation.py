"""Access to the local installation: settings, data folder, database, schema check."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from pydantic import ValidationError
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, InternalError, OperationalError, SQLAlchemyError

from grader.db import Database
from grader.errors import OrganizerError
from grader.maintenance import schema
from grader.observability import observe_command
from grader.settings import PREFIX, Settings, unknown_variables
from grader.storage import disk
from grader.storage.stores import Storage, StorageUnavailable, open_storage
from grader.supervisor import lock

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

DATABASES = ("postgresql", "sqlite")
STORAGES = ("file", "s3")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BROKERS = ("redis", "rediss", "redis+socket")


class SchemaDiffers(OrganizerError):
    """The database schema belongs to a different version."""

    public_name = "schema_differs"

    def __init__(self, current: str) -> None:
        self.current = current
        super().__init__(
            f"The database schema belongs to another version of Fairboard ({current}; this version needs "
            f"{schema.head()}). To upgrade an older schema, run `fairboard migrate`."
        )


@dataclass(frozen=True)
class Installation:
    """An open installation."""

    settings: Settings
    database: Database
    storage: Storage

    def link(self, path: str) -> str:
        """Return the URL of a page of the site."""
        site = self.settings.base_url or lock.address(self.settings.data_dir) or self.settings.site()
        return site.rstrip("/") + path


@contextmanager
def opened(*, with_newer_tables: bool = False) -> Iterator[Installation]:
    """Open the installation that the environment configures; create the tables in an empty database.

    During a rolling upgrade, the tables may be newer than this version.
    """
    settings = load_settings()
    with opened_database(settings) as database:
        current = schema.current(database)
        if current is None:
            schema.upgrade(database)
        elif current != schema.head() and not (with_newer_tables and schema.is_usable(database)):
            raise SchemaDiffers(current)
        yield Installation(settings, database, open_storage(settings.storage()))


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
        reason = " ".join(str(error.orig).split())
        hint = (
            "Check the permissions of its file and folder."
            if isinstance(error.orig, sqlite3.Error)
            else f"Check that it is running and that {PREFIX}DATABASE_URL is correct."
        )
        raise click.ClickException(f"The database cannot be used: {reason}. {hint}") from error
    except DatabaseError as error:
        if isinstance(error, InternalError):  # raised by a read-only PostgreSQL replica
            raise click.ClickException(f"The database cannot be used: {error.orig}.") from error
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
        raise click.ClickException(
            "The disk is full. Run `fairboard doctor` to see which files you can delete."
        ) from error


def make_data_folder(settings: Settings) -> None:
    """Create the data folder if it does not exist; raise ClickException if that fails.

    The umask also protects new files in a folder that was created earlier with public permissions.
    """
    os.umask(0o077)
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(
            f"The data folder {settings.data_dir} cannot be used: {error.strerror}. "
            f"Set {PREFIX}DATA_DIR to use another folder."
        ) from error


def require_entry(settings: Settings, rights: int) -> None:
    """Raise ClickException if this process lacks `rights` (`os.access`) on the data folder."""
    if not os.access(settings.data_dir, rights):
        owner = settings.data_dir.stat().st_uid
        raise click.ClickException(
            f"The data folder {settings.data_dir} cannot be used: user {os.geteuid()} lacks permissions for "
            f"it. Run this command as its owner, user {owner}, who needs all permissions (chmod u+rwx)."
        )


def load_settings(**overrides: Any) -> Settings:
    """Return the settings with `overrides`; raise ClickException with all invalid variables."""
    problems = list(unknown_variables())
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        problems += [_sentence(problem) for problem in error.errors(include_url=False)]
        raise _unusable(problems) from error
    except OSError as error:  # if a variable names a file that cannot be read
        variables = _variable_of(error.filename)
        problems += [
            f"The file {error.filename}, specified by {variables}, cannot be read: {error.strerror}."
        ]
        raise _unusable(problems) from error
    if problems := [*problems, *_unusable_urls(settings)]:
        raise _unusable(problems)
    observe_command(settings)
    return settings


def _sentence(problem: "ErrorDetails") -> str:
    message = problem["msg"].removeprefix("Value error, ")
    if problem["loc"]:
        return f"{_variable('_'.join(map(str, problem['loc'])))}: {message}."
    return re.sub(r"\w+", lambda word: _variable(word[0]), message) + "."


def _variable(setting: str) -> str:
    return PREFIX + setting.upper() if setting in Settings.model_fields else setting


def _variable_of(file_name: object) -> str:
    names = [
        name for name, value in os.environ.items() if name.startswith(PREFIX) and value == str(file_name)
    ]
    return " and ".join(names)


def _unusable_urls(settings: Settings) -> Iterator[str]:
    try:
        backend = make_url(settings.database()).get_backend_name()
    except ArgumentError:
        backend = ""
    if backend not in DATABASES:
        yield f"{PREFIX}DATABASE_URL: expected postgresql://user:password@host/name or sqlite:////path."
    storage = urlsplit(settings.storage())
    if storage.scheme not in STORAGES or (storage.scheme == "s3" and not storage.hostname):
        yield f"{PREFIX}STORAGE_URL: expected s3://bucket/prefix or file:///folder."
    broker = settings.broker_url.get_secret_value() if settings.broker_url else None
    if broker and urlsplit(broker).scheme not in BROKERS:
        yield f"{PREFIX}BROKER_URL: expected redis://host:6379/0, rediss://… or redis+socket:///path."


def _unusable(problems: list[str]) -> click.ClickException:
    return click.ClickException(
        "\n".join(["These settings are invalid:", *problems, "docs/operations.md lists all settings."])
    )
