"""Portable copies of a whole database, and their import into SQLite or PostgreSQL.

A copy consists of parts of tables: compressed JSON arrays of rows. Times are in UTC. Rows are otherwise
unchanged, because the tables may have an older schema.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from operator import methodcaller
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import (
    JSON,
    Connection,
    Date,
    DateTime,
    MetaData,
    Table,
    Text,
    cast,
    delete,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.schema import AddConstraint, DropConstraint

from grader.crash_points import reach
from grader.db import Database, UTCDateTime
from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal
from grader.storage.stores import BlobDamaged, BlobMissing, Storage

PART_ROWS = 10_000  # unchanged parts are not copied again
Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class NotABackup(OrganizerError):
    """The data is not a usable backup; the message states the reason."""

    public_name = "not_a_backup"


@dataclass
class TableCopy:
    """A copied table: its columns, its number of rows, and the sizes of its parts by their hashes."""

    columns: list[str]
    row_count: int = 0
    parts: dict[Hash, int] = field(default_factory=dict)


def copy_out(connection: Connection, objects: Storage, present: Container[str]) -> dict[str, TableCopy]:
    """Copy all tables into a storage, except parts that are present; raise OrganizerRefusal."""
    if connection.dialect.name == "sqlite":
        finding = connection.execute(text("PRAGMA integrity_check(1)")).scalar_one()
        if finding != "ok":
            message = f"The database is damaged: {finding}."
            raise OrganizerRefusal("damaged_database", ErrorKind.CONFLICT, message)
    return {table.name: _copy_out(connection, table, objects, present) for table in tables(connection)}


def fill(connection: Connection, copies: Mapping[str, TableCopy], objects: Storage) -> None:
    """Insert all copied rows into new tables of a connection of `schema.migrating`.

    Raises NotABackup.
    """
    is_sqlite = connection.dialect.name == "sqlite"  # `schema.migrating` disables its foreign keys
    present = tables(connection)
    references = [] if is_sqlite else [each for table in present for each in table.foreign_key_constraints]
    for each in references:  # some rows refer to each other in cycles
        connection.execute(DropConstraint(each))
    for table in present:
        connection.execute(delete(table))  # migrations may have inserted rows
        _insert_rows(connection, table, copies[table.name], objects)
        if not is_sqlite and "id" in table.c:
            _advance_ids(connection, table)
    for each in references:
        connection.execute(AddConstraint(each))


def is_empty(database: Database) -> bool:
    """Return whether all tables are empty."""
    with database.read() as session:
        others = [table for table in tables(session.connection()) if table.name != "alembic_version"]
        return not any(session.execute(select(table).limit(1)).first() for table in others)


def parts(objects: Storage, name: str, copy: TableCopy) -> Iterator[list[list[Any]]]:
    """Yield the rows of each part of a copied table; raise NotABackup."""
    count = 0
    for part in copy.parts:
        try:
            content = objects.read(part)
        except (BlobMissing, BlobDamaged) as error:
            raise NotABackup(f"The table {name} cannot be read: {error}") from error
        rows = json.loads(gzip.decompress(content))
        count += len(rows)
        yield rows
    if count != copy.row_count:
        raise NotABackup(f"The table {name} has {count:,} rows instead of {copy.row_count:,}.")


def tables(connection: Connection) -> list[Table]:
    """Return all tables, which may have an older schema than the models."""
    metadata = MetaData()
    metadata.reflect(connection)
    for table in metadata.tables.values():
        for column in table.columns:
            if isinstance(column.type, JSON):
                column.type.none_as_null = True  # as in the models
            elif isinstance(column.type, DateTime):
                column.type = UTCDateTime()
    return sorted(metadata.tables.values(), key=lambda table: table.name)


def _copy_out(connection: Connection, source: Table, objects: Storage, present: Container[str]) -> TableCopy:
    copy = TableCopy(source.columns.keys())
    columns = [cast(each, Text) if isinstance(each.type, JSON) else each for each in source.columns]
    query = select(*columns).order_by(*source.primary_key).execution_options(yield_per=PART_ROWS)
    with connection.execute(query) as result:  # an error leaves no cursor open
        for rows in result.partitions():
            content = json.dumps(list(map(list, rows)), ensure_ascii=False, default=methodcaller("isoformat"))
            part = gzip.compress(content.encode(), 1, mtime=0)
            sha256 = hashlib.sha256(part).hexdigest()
            copy.row_count += len(rows)
            copy.parts[sha256] = len(part)
            if sha256 not in present:
                objects.put(part)
                reach("backup.after_object")
    return copy


def _insert_rows(connection: Connection, target: Table, copy: TableCopy, objects: Storage) -> None:
    """Insert the rows of a copied table."""
    converters = [_converter(target.c[name].type) for name in copy.columns]

    def converted(row: list[Any]) -> dict[str, Any]:
        values = zip(copy.columns, converters, row, strict=True)
        return {name: None if value is None else convert(value) for name, convert, value in values}

    for rows in parts(objects, target.name, copy):
        connection.execute(insert(target), [converted(row) for row in rows])


def _converter(kind: Any) -> Callable[[Any], Any]:
    if isinstance(kind, UTCDateTime):
        return lambda value: datetime.fromisoformat(value).replace(tzinfo=UTC)
    if isinstance(kind, Date):
        return date.fromisoformat
    if isinstance(kind, JSON):
        return json.loads
    return lambda value: value


def _advance_ids(connection: Connection, target: Table) -> None:
    """Let PostgreSQL's next id follow the greatest one, if there is one; SQLite does this itself."""
    quoted = connection.dialect.identifier_preparer.quote_identifier(target.name)
    sequence = func.pg_get_serial_sequence(quoted, "id")
    connection.execute(select(func.setval(sequence, func.max(target.c.id))))
