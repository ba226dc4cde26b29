"""Move of an installation from SQLite to PostgreSQL: equal rows, refused targets, a source in use."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url, text

from grader.db import Database
from grader.maintenance import database_copies, schema
from grader.maintenance.database_copies import CannotRestore
from grader.models import SubmissionStatus

pytestmark = [pytest.mark.system, pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)]


@pytest.fixture
def target(empty_postgresql_url: str) -> Iterator[Database]:
    database = Database(empty_postgresql_url, pool_size=2)
    yield database
    database.dispose()


@pytest.fixture
def file(service) -> Path:
    """The SQLite file of an installation with a score, which no connection uses."""
    service.score(service.submit(service.competition()))
    return close(service)


def close(service) -> Path:
    service.database.dispose()
    return Path(make_url(service.settings.database()).database or "").resolve()


def digests(database: Database, folder: Path) -> dict[str, tuple[int, str]]:
    folder.mkdir()
    copies = database_copies.copy_out(database, folder, look=lambda _: None)
    return {name: (copy.row_count, copy.digest) for name, copy in copies.items()}


def test_moved_installation_is_equal_and_continues(service, file: Path, target: Database, tmp_path: Path):
    before = digests(service.database, tmp_path / "before")
    service.database.dispose()
    told: list[tuple[int, int, str]] = []
    count = database_copies.move(file, target, tell=lambda *progress: told.append(progress))
    assert told[-1][:2] == (count, count)
    assert told[-1][2].startswith("table ")
    assert digests(target, tmp_path / "after") == before == digests(service.database, tmp_path / "source")
    service.database = target
    accepted = service.submit(service.competition(slug="next"), seed=3)  # with new ids
    service.score(accepted)
    assert service.submission(accepted).status is SubmissionStatus.SCORED


def test_target_with_any_table_is_refused_and_unchanged(file: Path, target: Database):
    with target.write() as session:
        session.execute(text("CREATE TABLE orders (id integer)"))
    with pytest.raises(CannotRestore, match="not empty: it contains 1 table, such as orders"):
        database_copies.move(file, target, tell=print)
    with target.write() as session:
        session.execute(text("DROP TABLE orders"))
    database_copies.move(file, target, tell=print)
    with pytest.raises(CannotRestore, match=r"not empty: it contains \d+ tables, such as account_link"):
        database_copies.move(file, target, tell=print)


def test_old_server_is_refused(file: Path, target: Database, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(database_copies, "OLDEST_POSTGRESQL", 99)
    with pytest.raises(CannotRestore, match=r"on PostgreSQL \d+\. .* PostgreSQL 99 or later"):
        database_copies.move(file, target, tell=print)
    assert schema.current(target) is None


def test_database_with_another_encoding_is_refused(file: Path, postgresql_server: str):
    url = make_url(postgresql_server).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
        latin = Database(make_url(url).set(database="latin").render_as_string(hide_password=False))
        with pytest.raises(CannotRestore, match="encoding LATIN1"):
            database_copies.move(file, latin, tell=print)
        latin.dispose()
        connection.execute("DROP DATABASE latin WITH (FORCE)")


def test_interrupted_move_leaves_the_target_empty_and_can_be_repeated(file: Path, target: Database):
    def interrupt(done: int, total: int, place: str):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database_copies.move(file, target, tell=interrupt)
    assert schema.current(target) is None
    database_copies.move(file, target, tell=print)
    assert schema.is_current(target)


def test_file_in_use_is_refused_and_nobody_uses_it_during_the_move(file: Path, target: Database):
    with sqlite3.connect(file) as reader:
        reader.execute("SELECT count(*) FROM submission")
        with pytest.raises(CannotRestore, match=r"is in use .*fairboard-serve, .*`systemctl stop`"):
            database_copies.move(file, target, tell=print)
    reader.close()
    tries = []

    def write(done: int, total: int, place: str):
        with (
            sqlite3.connect(file, timeout=0) as late,
            pytest.raises(sqlite3.OperationalError, match="locked"),
        ):
            late.execute("SELECT count(*) FROM submission")
        late.close()
        tries.append(place)

    database_copies.move(file, target, tell=write)
    assert tries


def test_difference_is_found_before_the_commit(file: Path, target: Database, monkeypatch: pytest.MonkeyPatch):
    insert = database_copies._insert_rows
    monkeypatch.setattr(
        database_copies,
        "_insert_rows",
        lambda connection, table, columns, rows: insert(
            connection, table, columns, (row for row in [*rows][table.name == "score" :])
        ),
    )
    with pytest.raises(CannotRestore, match="differ from the copied ones in these tables: score"):
        database_copies.move(file, target, tell=print)
    assert schema.current(target) is None
