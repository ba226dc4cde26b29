"""Consistent export of a whole database to files, even during writes, and its import.

SQLite uses its online backup API. PostgreSQL uses COPY within one snapshot, which requires no PostgreSQL
programs. Rows are copied unchanged, because the tables may have an older schema.
"""

import gzip
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    Connection,
    NullPool,
    column,
    create_engine,
    delete,
    func,
    inspect,
    literal,
    select,
    table,
    text,
)
from sqlalchemy.orm import Session

from grader.db import Database
from grader.errors import OrganizerError
from grader.maintenance import schema
from grader.storage import disk

SQLITE_FILE = "fairboard.db"
BUSY_SECONDS = 60

Tables = dict[str, list[str]]


class DamagedDatabase(OrganizerError):
    """SQLite's integrity check has found damage."""

    public_name = "damaged_database"
    message = "The database is damaged: {finding}."


def kind_of(database: Database) -> str:
    """Return "sqlite" or "postgresql"."""
    return database.engine.dialect.name


def size_bytes(database: Database) -> int:
    """Return the approximate maximum size of a copy."""
    query = (
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        if kind_of(database) == "sqlite"
        else "SELECT pg_database_size(current_database())"
    )
    with database.read() as session:
        return int(session.execute(text(query)).scalar_one())


def copy_out(database: Database, folder: Path, *, look: Callable[[Session], None]) -> Tables:
    """Write the database into a folder; return the columns of tables that have separate files.

    `look` is called with a session that sees exactly the copied state.
    """
    if kind_of(database) == "sqlite":
        copy = folder / SQLITE_FILE
        _copy_sqlite(_sqlite_path(database), copy)
        with _reading_sqlite(copy) as session:
            look(session)
        return {}
    with database.read() as session:  # a single snapshot
        connection = session.connection()
        tables = _tables(connection)
        for name, columns in tables.items():
            _copy_table_out(connection, name, columns, folder / f"{name}.copy.gz")
        look(session)
    return tables


def copy_in(database: Database, folder: Path, *, tables: Tables, revision: str) -> None:
    """Fill an empty database atomically with the output of `copy_out` at this revision."""
    if kind_of(database) == "sqlite":
        database.dispose()
        _replace_sqlite(folder / SQLITE_FILE, _sqlite_path(database))
        return
    schema.downgrade(database, "base")
    schema.upgrade(database, revision)
    with database.engine.begin() as connection, _without_references(connection):
        for name in _tables(connection):
            connection.execute(delete(table(name)))  # migrations may have inserted rows
        for name, columns in tables.items():
            _copy_table_in(connection, name, columns, folder / f"{name}.copy.gz")
            _advance_ids(connection, name, columns)


def is_empty(database: Database) -> bool:
    """Return whether all tables are empty."""
    with database.read() as session:
        return not any(
            session.execute(select(literal(1)).select_from(table(name)).limit(1)).first()
            for name in inspect(session.connection()).get_table_names()
            if name != "alembic_version"
        )


def _copy_sqlite(source: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(source, timeout=BUSY_SECONDS)) as present,
        closing(sqlite3.connect(target)) as copy,
    ):
        present.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")  # stores the copy in a single file
        (finding,) = copy.execute("PRAGMA integrity_check").fetchone()
    if finding != "ok":
        raise DamagedDatabase(finding=finding)
    disk.sync(target)


@contextmanager
def _reading_sqlite(path: Path) -> Iterator[Session]:
    """Open a read-only copy without creating other files."""
    engine = create_engine(f"sqlite:///{_read_only(path)}&uri=true", poolclass=NullPool)
    with Session(engine) as session:
        yield session
    engine.dispose()


def _read_only(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"


def _replace_sqlite(source: Path, target: Path) -> None:
    draft = target.with_name(f"{target.name}.restoring")
    draft.unlink(missing_ok=True)
    with (
        closing(sqlite3.connect(_read_only(source), uri=True)) as kept,
        closing(sqlite3.connect(draft)) as copy,
    ):
        kept.backup(copy)
    disk.sync(draft)
    for ending in ("-wal", "-shm"):
        target.with_name(target.name + ending).unlink(missing_ok=True)
    draft.replace(target)
    disk.sync(target.parent)


def _sqlite_path(database: Database) -> Path:
    return Path(database.engine.url.database or "")


def _tables(connection: Connection) -> Tables:
    found = inspect(connection)
    return {
        name: [column["name"] for column in found.get_columns(name)]
        for name in sorted(found.get_table_names())
    }


def _copy_table_out(connection: Connection, name: str, columns: Sequence[str], path: Path) -> None:
    command = f"COPY {_quoted(name)} ({_listed(columns)}) TO STDOUT"
    with (
        gzip.open(path, "wb", compresslevel=1) as file,
        _cursor(connection) as cursor,
        cursor.copy(command) as rows,
    ):
        for data in rows:
            file.write(data)
    disk.sync(path)


def _copy_table_in(connection: Connection, name: str, columns: Sequence[str], path: Path) -> None:
    command = f"COPY {_quoted(name)} ({_listed(columns)}) FROM STDIN"
    with (
        gzip.open(path, "rb") as file,
        _cursor(connection) as cursor,
        cursor.copy(command) as rows,
    ):
        while data := file.read(1 << 20):
            rows.write(data)


def _advance_ids(connection: Connection, name: str, columns: Sequence[str]) -> None:
    if "id" in columns:
        last = connection.scalar(select(func.max(column("id"))).select_from(table(name)))
        if last is not None:
            sequence = func.pg_get_serial_sequence(_quoted(name), "id")
            connection.execute(select(func.setval(sequence, last)))


@contextmanager
def _without_references(connection: Connection) -> Iterator[None]:
    """Drop foreign keys during the block, because some rows refer to each other in cycles."""
    found = connection.execute(
        text(
            "SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) "
            "FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
        )
    ).all()
    for owner, name, _ in found:
        connection.execute(text(f"ALTER TABLE {owner} DROP CONSTRAINT {name}"))
    yield
    for owner, name, definition in found:
        connection.execute(text(f"ALTER TABLE {owner} ADD CONSTRAINT {name} {definition}"))


def _cursor(connection: Connection) -> Any:
    driver: Any = connection.connection.driver_connection
    return driver.cursor()


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(_quoted(column) for column in columns)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
