"""What administrative commands work on: the same data folder and settings as the service, running or not."""

import getpass
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
from pydantic import ValidationError
from sqlalchemy.exc import OperationalError

from grader.db import Database
from grader.errors import OrganizerError
from grader.services import schema
from grader.settings import PREFIX, Settings, load
from grader.storage import Storage, open_storage


class SchemaDiffers(OrganizerError):
    """The database has the tables of another version."""

    def __init__(self, current: str) -> None:
        self.current = current
        super().__init__(
            f"The database has the tables of another version of Fairboard ({current}; this one needs "
            f"{schema.head()}). `fairboard migrate` brings older tables up to date."
        )


@dataclass(frozen=True)
class Installation:
    """An open installation."""

    settings: Settings
    database: Database
    storage: Storage


@contextmanager
def opened() -> Iterator[Installation]:
    """Open the installation of this environment; a database without tables gets them."""
    settings = load_settings()
    with opened_database(settings) as database:
        current = schema.current(database)
        if current is None:
            schema.upgrade(database)
        elif current != schema.head():
            raise SchemaDiffers(current)
        yield Installation(settings, database, open_storage(settings.storage()))


@contextmanager
def opened_database(settings: Settings) -> Iterator[Database]:
    """Open the database as it is, whatever tables it has."""
    make_data_folder(settings)
    database = Database(settings.database(), pool_size=2)
    try:
        yield database
    except OperationalError as error:
        raise click.ClickException(f"The database cannot be used: {error.orig}") from error
    finally:
        database.dispose()


def make_data_folder(settings: Settings) -> None:
    """Make the data folder where it is not there yet; raise a sentence where it cannot be."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(
            f"The data folder {settings.data_dir} cannot be used: {error.strerror}. "
            f"{PREFIX}DATA_DIR names another one."
        ) from error


def load_settings(**overrides: Any) -> Settings:
    """Return the settings with `overrides`, naming every FAIRBOARD_* variable that cannot be used."""
    try:
        return load(**overrides)
    except ValidationError as error:
        problems = [
            f"{PREFIX}{'_'.join(map(str, problem['loc'])).upper()}: {problem['msg']}."
            for problem in error.errors(include_url=False)
        ]
        raise click.ClickException("These settings cannot be used:\n" + "\n".join(problems)) from error


def operator() -> str:
    """Return who types the commands, for the record of who changed what."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # containers run under ids without a name
        return f"user {os.getuid()}"
