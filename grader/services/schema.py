"""The schema's version: moving a database up and down through the migrations."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

import migrations
from grader.db import Database
from grader.errors import OrganizerError

_ADVISORY_LOCK = 7777_0001


class UnknownTables(OrganizerError):
    """The database has a revision that this installation does not know."""

    def __init__(self, revision: str) -> None:
        super().__init__(
            f"The database has the tables of a newer version of Fairboard ({revision}; this one knows up to "
            f"{head()}). Install that version, or restore a backup from before it."
        )
        self.revision = revision


def upgrade(database: Database, revision: str = "head") -> None:
    """Bring the tables up to `revision`; processes that start together wait for each other.

    Raises UnknownTables, and changes nothing, where they come from a newer version.
    """
    with _migrating(database) as connection:
        found = MigrationContext.configure(connection).get_current_revision()
        if found is not None and found not in _known():
            raise UnknownTables(found)
        command.upgrade(_config(connection), revision)


def downgrade(database: Database, revision: str) -> None:
    """Take the tables back to `revision`, or to none with "base"."""
    with _migrating(database) as connection:
        command.downgrade(_config(connection), revision)


def current(database: Database) -> str | None:
    """Return the revision that the database has, None if it has no tables yet."""
    with database.engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str | None:
    """Return the newest revision that this installation knows."""
    return _scripts().get_current_head()


def is_current(database: Database) -> bool:
    """Tell whether the database has the revision that this installation expects."""
    return current(database) == head()


def _known() -> set[str]:
    return {script.revision for script in _scripts().walk_revisions()}


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config(None))


@contextmanager
def _migrating(database: Database) -> Iterator[Connection]:
    """Open the one transaction of a migration.

    SQLite alters a table by copying and dropping it, which the foreign keys that point at it would forbid;
    they are not looked at until all is done, and then all at once.
    """
    with database.engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        driver = connection.connection.driver_connection
        if sqlite and driver is not None:
            driver.execute("PRAGMA foreign_keys = OFF")  # before the transaction, or it has no effect
        try:
            with connection.begin():
                _lock(connection)
                yield connection
                if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                    raise RuntimeError("The migration broke references between tables.")
        finally:
            if sqlite and driver is not None:
                driver.execute("PRAGMA foreign_keys = ON")


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    return config


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
