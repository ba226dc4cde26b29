"""Access to the local installation: settings, data folder, database, schema check."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from pydantic import ValidationError
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, InternalError, OperationalError, SQLAlchemyError

from grader.db import Database
from grader.maintenance import schema
from grader.maintenance.backups import DISK_FULL
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
UNITS_FILE = Path("/etc/fairboard/environment")  # the systemd units read it
UNITS_DEFAULTS = {"FAIRBOARD_DATA_DIR": "/var/lib/fairboard", "FAIRBOARD_CACHE_DIR": "/var/cache/fairboard"}
_ASSIGNMENT = re.compile(
    r"""^[ \t]*(\w+)=[ \t]*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\n]*?))[ \t]*$""", re.MULTILINE | re.DOTALL
)
BROKERS = ("redis", "rediss", "redis+socket")


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
            raise click.ClickException(DISK_FULL) from error
        reason = " ".join(str(error.orig).split())
        hint = f"Check that it is running and that {PREFIX}DATABASE_URL is correct."
        if isinstance(error.orig, sqlite3.Error):
            hint = "Check its disk, the permissions of its file and folder, and which processes use it."
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
        raise click.ClickException(DISK_FULL) from error


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


def installed_settings() -> Settings:
    """Return the settings of the installation, and become the owner of its data folder if this is root.

    The settings of the systemd units apply if the environment and the current folder name no installation.
    """
    names = {f"{PREFIX}{name}{suffix}" for name in ("DATA_DIR", "DATABASE_URL") for suffix in ("", "_FILE")}
    if not (names & os.environ.keys() or os.access("var/fairboard.db", os.F_OK)) and UNITS_FILE.exists():
        for found in _ASSIGNMENT.finditer(UNITS_FILE.read_text()):
            quoted = found[2] and re.sub(r"\\(.)", r"\1", found[2], flags=re.DOTALL)
            os.environ.setdefault(found[1], quoted or found[3] or found[4] or "")
        for name, value in UNITS_DEFAULTS.items():
            os.environ.setdefault(name, value)
    settings = load_settings()
    if os.geteuid() == 0 and settings.data_dir.is_dir() and (owner := settings.data_dir.stat()).st_uid:
        os.setgroups([])
        os.setgid(owner.st_gid)
        os.setuid(owner.st_uid)
    return settings


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
    message = problem["msg"].removeprefix("Value error, ").replace("items after validation", "characters")
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
