"""Portable copies of a whole database, and their import into SQLite or PostgreSQL.

A copy contains one or several compressed files per table, with one row per line as a JSON array. Times are in
UTC, and bytes are in Base64. Rows are otherwise unchanged, because the tables may have an older schema.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import chain, islice
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import Field
from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Date,
    DateTime,
    LargeBinary,
    MetaData,
    Table,
    Text,
    cast,
    delete,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
)

from grader.db import Database
from grader.errors import ErrorKind, OrganizerRefusal

PART_ROWS = 50_000  # unchanged parts are not copied again
BATCH = 1000
REVISION_TABLE = "alembic_version"
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


@dataclass
class TableCopy:
    """A copied table: its columns, its number of rows, and the sizes of its files by their hashes."""

    columns: list[str]
    row_count: int = 0
    parts: dict[Hash, int] = field(default_factory=dict)


OpenPart = Callable[[str], AbstractContextManager[IO[bytes]]]
Rows = Iterator[list[Any]]


def size_bytes(database: Database) -> int:
    """Return the approximate maximum size of a copy."""
    query = (
        "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
        if database.engine.dialect.name == "sqlite"
        else "SELECT pg_database_size(current_database())"
    )
    with database.read() as session:
        return int(session.execute(text(query)).scalar_one())


def copy_out(connection: Connection, folder: Path) -> dict[str, TableCopy]:
    """Write all tables into a folder, in files named by their hashes; raise OrganizerRefusal."""
    if connection.dialect.name == "sqlite":
        finding = connection.execute(text("PRAGMA integrity_check(1)")).scalar_one()
        if finding != "ok":
            message = f"The database is damaged: {finding}."
            raise OrganizerRefusal("damaged_database", ErrorKind.CONFLICT, message)
    return {table.name: _copy_out(connection, table, folder) for table in tables(connection)}


def fill(connection: Connection, copies: Mapping[str, TableCopy], open_part: OpenPart) -> None:
    """Insert all copied rows into new tables of a connection of `schema.migrating`.

    Raises OrganizerRefusal if a table has another number of rows than its copy.
    """
    with _without_references(connection):
        present = {table.name: table for table in tables(connection)}
        for table in present.values():
            connection.execute(delete(table))  # migrations may have inserted rows
        incomplete = [
            name
            for name, copy in copies.items()
            if _insert_rows(connection, present[name], copy, open_part) != copy.row_count
        ]
        if incomplete:
            raise OrganizerRefusal(
                "cannot_restore",
                ErrorKind.CONFLICT,
                f"These tables of the backup lack rows or have extra ones: {', '.join(incomplete)}. No "
                "table was changed.",
            )
        for table in present.values():
            _advance_ids(connection, table)


def is_empty(database: Database) -> bool:
    """Return whether all tables are empty."""
    with database.read() as session:
        connection = session.connection()
        return not any(
            connection.execute(select(literal(1)).select_from(table).limit(1)).first()
            for table in tables(connection)
            if table.name != REVISION_TABLE
        )


def rows_in_parts(copy: TableCopy, open_part: OpenPart) -> Rows:
    """Yield the rows in the files of a copied table."""
    for part in copy.parts:
        with open_part(part) as file, gzip.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def tables(connection: Connection) -> list[Table]:
    """Return all tables with their columns and primary keys."""
    inspector = inspect(connection)
    result = []
    for name in sorted(inspector.get_table_names()):
        keys = inspector.get_pk_constraint(name)["constrained_columns"]
        columns = [
            Column(each["name"], each["type"], primary_key=each["name"] in keys)
            for each in inspector.get_columns(name)
        ]
        for each in columns:
            if isinstance(each.type, JSON):
                each.type.none_as_null = True  # distinguishes NULL from JSON's null
        result.append(Table(name, MetaData(), *columns))
    return result


def _copy_out(connection: Connection, source: Table, folder: Path) -> TableCopy:
    copy = TableCopy([each.name for each in source.columns])
    rows = _read_rows(connection, source)
    while first := next(rows, None):
        path = folder / "part"
        with path.open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as packed:
            for row in chain([first], islice(rows, PART_ROWS - 1)):
                packed.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                copy.row_count += 1
        with path.open("rb") as file:
            sha256 = digest(file)
        copy.parts[sha256] = path.stat().st_size
        path.rename(folder / sha256)
    return copy


def digest(file: IO[bytes]) -> str:
    """Return the SHA-256 hash of a file."""
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _read_rows(connection: Connection, source: Table) -> Rows:
    """Yield the rows of a table as JSON-ready values, in the order of the primary key."""
    query = (
        select(*(cast(each, Text) if isinstance(each.type, JSON) else each for each in source.columns))
        .order_by(*source.primary_key)
        .execution_options(stream_results=True, yield_per=BATCH)
    )
    for row in connection.execute(query):
        yield [_plain(value) for value in row]


def _insert_rows(connection: Connection, target: Table, copy: TableCopy, open_part: OpenPart) -> int:
    """Insert the rows of a copied table; return their number."""
    converters = [_converter(target.c[name].type, connection.dialect.name) for name in copy.columns]

    def converted(row: list[Any]) -> dict[str, Any]:
        values = zip(copy.columns, converters, row, strict=True)
        return {name: None if value is None else convert(value) for name, convert, value in values}

    count, rows = 0, rows_in_parts(copy, open_part)
    while batch := [converted(row) for row in islice(rows, BATCH)]:
        connection.execute(insert(target), batch)
        count += len(batch)
    return count


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).replace(tzinfo=None).isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes | memoryview) else value


def _converter(kind: Any, dialect: str) -> Callable[[Any], Any]:
    if isinstance(kind, DateTime):
        zone = UTC if dialect == "postgresql" else None
        return lambda value: datetime.fromisoformat(value).replace(tzinfo=zone)
    if isinstance(kind, Date):
        return date.fromisoformat
    if isinstance(kind, LargeBinary):
        return base64.b64decode
    if isinstance(kind, JSON):
        return lambda value: JSON.NULL if (data := json.loads(value)) is None else data
    return lambda value: value


def _advance_ids(connection: Connection, target: Table) -> None:
    """Let PostgreSQL's next id follow the greatest one; SQLite does this itself."""
    if connection.dialect.name == "postgresql" and "id" in target.c:
        last = connection.scalar(select(func.max(target.c.id)))
        if last is not None:
            quoted = connection.dialect.identifier_preparer.quote_identifier(target.name)
            sequence = func.pg_get_serial_sequence(quoted, "id")
            connection.execute(select(func.setval(sequence, last)))


@contextmanager
def _without_references(connection: Connection) -> Iterator[None]:
    """Drop foreign keys during the block, because some rows refer to each other in cycles."""
    if connection.dialect.name == "sqlite":  # `schema.migrating` disables and checks them
        yield
        return
    rows = connection.execute(
        text(
            "SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) "
            "FROM pg_constraint WHERE contype = 'f' AND connamespace = current_schema()::regnamespace"
        )
    ).all()
    for owner, name, _ in rows:
        connection.execute(text(f"ALTER TABLE {owner} DROP CONSTRAINT {name}"))
    yield
    for owner, name, definition in rows:
        connection.execute(text(f"ALTER TABLE {owner} ADD CONSTRAINT {name} {definition}"))
