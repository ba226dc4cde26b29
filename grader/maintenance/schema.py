"""Database schema: migrations and the current revision.

Processes of the previous release keep running during and after a migration. Therefore, a migration removes
nothing that they use and never waits long for a table lock.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import OperationalError

import migrations
from grader.db import Database
from grader.errors import ErrorKind, OrganizerRefusal

SCRIPTS = Path(migrations.__file__).parent
# Other transactions queue behind a migration that waits for a table lock.
LOCK_TIMEOUT_SECONDS = 2
PAUSE_SECONDS = 1
TRIES = 30

RESTORING = "0000_restoring"  # the revision of a database until its restore is complete

_ADVISORY_LOCK = 7777_0001


def upgrade(database: Database) -> None:
    """Upgrade the tables; concurrent upgrades wait for each other; raise OrganizerRefusal.

    Retries while other transactions hold a lock on a table.
    """
    for _ in range(TRIES):
        try:
            with migrating(database) as connection:
                return upgrade_within(connection)
        except OperationalError as error:
            if not isinstance(error.orig, LockNotAvailable):
                raise
        time.sleep(PAUSE_SECONDS)
    message = (
        f"The tables could not be changed because other transactions locked them during all {TRIES} "
        "attempts. Nothing was changed. Try again when no long query or backup is running."
    )
    raise OrganizerRefusal("tables_in_use", ErrorKind.CONFLICT, message)


def upgrade_within(connection: Connection) -> None:
    """Upgrade the tables within a transaction of `migrating`; raise OrganizerRefusal."""
    require_known(_revision(connection))
    _run("upgrade", connection, "head")


def mark_restore(database: Database) -> None:
    """Remove all tables; until `rebuild` has been committed, no process accepts the database."""
    with migrating(database) as connection:
        rebuild(connection, None)
        connection.execute(text("INSERT INTO alembic_version VALUES (:revision)"), {"revision": RESTORING})


def rebuild(connection: Connection, revision: str | None) -> None:
    """Replace all tables with those of a revision within a transaction of `migrating`."""
    if _revision(connection) == RESTORING:
        connection.execute(text("DELETE FROM alembic_version"))
    require_known(_revision(connection))
    _run("downgrade", connection, "base")
    if revision is not None:
        _run("upgrade", connection, revision)


def current(database: Database) -> str | None:
    """Return the revision of the database, or None if it has no tables."""
    with database.read() as session:  # /readyz must not wait for a writer
        return _revision(session.connection())


def head() -> str:
    """Return the newest revision known to this installation."""
    return revisions()[-1]


@cache
def revisions() -> list[str]:
    """Return the revisions known to this installation, with which the names of their files begin."""
    return sorted(path.name.partition("_")[0] for path in SCRIPTS.glob("versions/[0-9]*_*.py"))


def require_known(revision: str | None) -> None:
    """Raise OrganizerRefusal for a revision that is unknown to this installation, unless it is None."""
    if revision is not None and revision not in revisions():
        raise OrganizerRefusal("unknown_tables", ErrorKind.CONFLICT, difference(revision))


def difference(revision: str | None) -> str:
    """Return the message about a database that has another revision than this installation."""
    if revision == RESTORING:
        return (
            "The restore into this database was not completed. Repeat it with `fairboard restore`. To start "
            "an empty site instead, use another database."
        )
    if revision is None or revision in revisions():
        return f"The database schema is {revision}, but this version needs {head()}. Run `fairboard migrate`."
    return (
        f"The database has the schema {revision}, which this version of Fairboard does not know: install the "
        "version that created it, or export the CSV files with that version and start with an empty folder."
    )


def is_usable(database: Database) -> bool:
    """Return whether this installation can use the tables, which may have a newer revision.

    A rolling upgrade starts with the migration, while processes of the previous release still serve requests.
    """
    revision = current(database)
    return revision is not None and revision >= head()


@contextmanager
def migrating(database: Database) -> Iterator[Connection]:
    """Open the transaction of a migration.

    SQLite alters a table by copying and dropping it, which foreign keys prevent. They are therefore disabled,
    and all are checked at the end.
    """
    with database.engine.connect() as connection:
        sqlite = connection.dialect.name == "sqlite"
        driver: Any = connection.connection.driver_connection
        if sqlite:
            driver.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction
        try:
            with connection.begin():
                if not sqlite:
                    connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
                    connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT_SECONDS}s'"))
                yield connection
                if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").first():
                    raise RuntimeError("The migration violated foreign key constraints.")
        finally:
            if sqlite:
                driver.execute("PRAGMA foreign_keys = ON")


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return revision


def _run(verb: str, connection: Connection, revision: str) -> None:
    # Only migrations import Alembic, so processes that check the revision do not keep it in memory.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    getattr(command, verb)(config, revision)
