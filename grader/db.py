"""Database access: engine, read and write sessions, UTC times, clock."""

import logging
import sqlite3
import threading
import time
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import (
    ColumnElement,
    Connection,
    DateTime,
    Dialect,
    Engine,
    ExceptionContext,
    create_engine,
    event,
    func,
    literal,
    make_url,
    select,
    type_coerce,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, Session, sessionmaker
from sqlalchemy.types import TypeDecorator

from grader.errors import ParticipantError
from grader.settings import PREFIX

log = logging.getLogger(__name__)
BUSY_TIMEOUT_MS = 30_000
PAUSE_SECONDS = 0.0005  # between attempts to write
# Without these limits, a thread would wait for a server that has disappeared for about 15 minutes.
_NETWORK_PATIENCE = {
    "connect_timeout": "5",  # seconds
    "tcp_user_timeout": "30000",  # milliseconds
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}

# SQLSTATE codes for values that cannot be stored: numbers out of range, NUL in text or JSON, and incomplete
# characters.
_UNSTORABLE_STATES = frozenset({None, "22003", "22021", "22P02", "22P05"})
# The SQLSTATE class of statements that exceed a limit of PostgreSQL; other operational errors are temporary.
_TOO_COMPLEX = "54"
# The limit of a pause in a write transaction in PostgreSQL. Web processes use it also for queries and locks.
TIMEOUT_SECONDS = 30
# SQLSTATE codes of an exceeded timeout.
_TIMEOUT_STATES = frozenset({"57014", "55P03", "25P03"})
_TRANSIENT_SQLITE = frozenset(
    {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
)


class Unstorable(ParticipantError):
    """A value that the database cannot store.

    Code that reads input should reject such values earlier, with a message that names the field.
    """

    public_name = "unstorable"
    message = "A number is too large, or a text contains an invalid character, such as NUL (U+0000)."


class UTCDateTime(TypeDecorator[datetime]):
    """Column type for aware datetimes, which are stored and returned in UTC because SQLite drops offsets."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"A time without a time zone cannot be stored: {value!r}")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Database:
    """Read and write sessions for one database.

    Write sessions acquire SQLite's write lock immediately (BEGIN IMMEDIATE), because upgrading the lock later
    could fail. Read sessions cannot write. On PostgreSQL, they use one snapshot, so a leaderboard never mixes
    two states. With a timeout in seconds, their statements are limited, and so are waits for locks of write
    sessions, but not their statements, because rescorings may write for minutes.
    """

    def __init__(self, url: str, *, pool_size: int = 5, timeout: float = 0) -> None:
        self.engine = _create_engine(url, pool_size=pool_size, timeout=timeout)
        reading: dict[str, Any] = {"fairboard_reads": True}
        if self.engine.dialect.name == "postgresql":
            reading |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._write = sessionmaker(self.engine, expire_on_commit=False)
        self._read = sessionmaker(self.engine.execution_options(**reading), expire_on_commit=False)

    def write(self) -> AbstractContextManager[Session]:
        """Open a session that commits if the block succeeds and rolls back on an exception."""
        return self._write.begin()

    def read(self) -> Session:
        """Open a read-only session on a consistent state of the database; its rows stay usable afterwards."""
        return self._read()

    def dispose(self) -> None:
        """Close all connections; forked child processes must call this before their first session."""
        self.engine.dispose()


def now(session: Session) -> datetime:
    """Return the current time by the database's clock; acquire the competition's lock first.

    With SQLite, this is the machine's clock.
    """
    if session.get_bind().dialect.name == "postgresql":
        time: datetime = session.execute(select(func.clock_timestamp())).scalar_one()
        return time.astimezone(UTC)
    return datetime.now(UTC)


def clock(session: Session) -> ColumnElement[datetime]:
    """Return the current time as a column expression, for statements that also read rows."""
    if session.get_bind().dialect.name == "postgresql":
        return type_coerce(func.clock_timestamp(), UTCDateTime)
    return literal(now(session), UTCDateTime)


def insert_new(session: Session, table: type[DeclarativeBase], rows: list[dict[str, Any]]) -> None:
    """Insert rows, skipping those whose unique key already exists."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    session.execute(insert(table).values(rows).on_conflict_do_nothing())


def is_unavailable(error: BaseException) -> bool:
    """Return whether an error means that the database is temporarily unavailable.

    The effect of a COMMIT is unknown after such an error.
    """
    if isinstance(error, PoolTimeout) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return True
    origin = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(origin, psycopg.OperationalError | psycopg.InterfaceError):
        return not (origin.sqlstate or "").startswith(_TOO_COMPLEX)
    if isinstance(origin, sqlite3.OperationalError):
        return getattr(origin, "sqlite_errorcode", 0) & 0xFF in _TRANSIENT_SQLITE  # primary result code
    return False


def exceeded_limit(error: BaseException) -> str | None:
    """Return the limit that was exceeded, or None; the transaction has changed nothing."""
    if isinstance(error, PoolTimeout):
        return f"{PREFIX}WEB_THREADS"
    origin = error.orig if isinstance(error, DBAPIError) else error
    has_timed_out = isinstance(origin, psycopg.Error) and origin.sqlstate in _TIMEOUT_STATES
    return f"{TIMEOUT_SECONDS} seconds" if has_timed_out else None


def _create_engine(url: str, *, pool_size: int, timeout: float) -> Engine:
    parsed = make_url(url)
    if parsed.drivername == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    # Parameters are excluded from errors and logs, because they include password hashes and hidden scores.
    options: dict[str, Any] = {"pool_size": pool_size, "max_overflow": 0, "hide_parameters": True}
    if parsed.get_backend_name() == "postgresql":
        parsed = parsed.set(query={**_NETWORK_PATIENCE, **parsed.query})
        engine = create_engine(parsed, pool_pre_ping=True, **options)
        event.listen(engine, "connect", partial(_configure_postgresql, timeout))
        event.listen(engine, "begin", partial(_begin_postgresql, timeout))
    else:
        if parsed.database:
            Path(parsed.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        engine = create_engine(parsed, **options)
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", partial(_begin_sqlite, threading.Lock()))
    event.listen(engine, "handle_error", _refuse_unstorable)
    return engine


def _refuse_unstorable(context: ExceptionContext) -> Unstorable | None:
    """Convert errors about unstorable values to `Unstorable` on both databases."""
    error = context.original_exception
    is_refused = isinstance(error, psycopg.DataError) and error.sqlstate in _UNSTORABLE_STATES
    # SQLite's driver raises OverflowError or UnicodeEncodeError for such values.
    if not is_refused and not isinstance(error, OverflowError | UnicodeEncodeError):
        return None
    log.info("The database rejected a value: %s", type(error).__name__)
    return Unstorable()


def _configure_postgresql(timeout: float, connection: Any, record: Any) -> None:
    """Set the limit per statement for the session, and detect a pooler such as PgBouncer.

    A pooler reports other process numbers than the server. In transaction mode, each transaction may run in
    another session of the server, so sessions must keep no settings and no prepared statements.
    """
    (server_process,) = connection.execute("SELECT pg_backend_pid()").fetchone()
    record.info["fairboard_pooled"] = server_process != connection.info.backend_pid
    if record.info["fairboard_pooled"]:
        connection.prepare_threshold = None
    else:
        connection.execute(f"SET statement_timeout = '{timeout}s'")
    connection.commit()


def _begin_postgresql(timeout: float, connection: Connection) -> None:
    limits = {
        "statement_timeout": 0,
        "lock_timeout": timeout,
        "idle_in_transaction_session_timeout": TIMEOUT_SECONDS,
    }
    if connection.get_execution_options().get("fairboard_reads", False):
        if not connection.info["fairboard_pooled"]:
            return
        limits = {"statement_timeout": timeout}
    calls = (f"set_config('{name}', '{limit}s', true)" for name, limit in limits.items())
    connection.exec_driver_sql(f"SELECT {', '.join(calls)}")


def _configure_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # This prevents the driver from starting transactions.
    # SQLite's own function ignores umlauts.
    connection.create_function(
        "lower", 1, lambda text: None if text is None else str(text).lower(), deterministic=True
    )
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(queue: threading.Lock, connection: Connection) -> None:
    """Start a transaction.

    The writers of this process queue for the lock, and one thread at a time polls SQLite's. SQLite's own
    pauses increase, which favors latecomers: among 100 writers, some waited for seconds.
    """
    reads = connection.get_execution_options().get("fairboard_reads", False)
    connection.exec_driver_sql(f"PRAGMA query_only = {'ON' if reads else 'OFF'}")
    if reads:
        connection.exec_driver_sql("BEGIN")
        return
    end = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    driver: Any = connection.connection.driver_connection
    driver.execute("PRAGMA busy_timeout = 0")
    try:
        with queue:
            while time.monotonic() < end:
                try:
                    driver.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                        break
                else:
                    return
                time.sleep(PAUSE_SECONDS)
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # SQLAlchemy raises its error.
    finally:
        driver.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
