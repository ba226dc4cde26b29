"""Database access: times, read and write sessions, clock."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import make_url, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from grader import db
from grader.db import Database
from grader.models import AccountLink, LinkPurpose
from grader.settings import Settings
from tests.fixtures.races import race
from webapp.app import create_app

pytestmark = pytest.mark.both_databases

NOON = datetime(2026, 1, 5, 12, 0, 0, 123456, tzinfo=UTC)


def link(token, created_at=NOON):
    purpose = LinkPurpose.SIGN_UP
    return AccountLink(purpose=purpose, token_sha256=token, used_at=None, expires_at=created_at)


def test_times_are_returned_in_utc_with_a_time_zone_whatever_their_input_zone(database):
    abroad = NOON.astimezone(timezone(timedelta(hours=-7)))
    with database.write() as session:
        session.add(link("a", abroad))
    with database.read() as session:
        stored = session.scalars(select(AccountLink.expires_at)).one()
    assert stored == NOON
    assert stored.utcoffset() == timedelta()


def test_time_without_a_zone_is_rejected(database):
    with pytest.raises(StatementError, match="without a time zone"), database.write() as session:
        session.add(link("a", NOON.replace(tzinfo=None)))


def test_write_session_commits_on_success_and_rolls_back_otherwise(database):
    with database.write() as session:
        session.add(link("kept"))
    with pytest.raises(ZeroDivisionError), database.write() as session:
        session.add(link("lost"))
        session.flush()
        _ = 1 / 0
    with database.read() as session:
        assert session.scalars(select(AccountLink.token_sha256)).all() == ["kept"]


def test_read_session_cannot_write(database):
    with pytest.raises(DBAPIError), database.read() as session:
        session.add(link("a"))
        session.flush()
    with database.write() as session:  # The connection is usable again.
        session.add(link("b"))


def test_read_session_sees_one_state(database):
    def tokens(session: Session) -> list[str]:
        return list(session.scalars(select(AccountLink.token_sha256).order_by(AccountLink.id)))

    with database.write() as session:
        session.add(link("a"))
    with database.read() as reader:
        assert tokens(reader) == ["a"]
        with database.write() as writer:
            writer.add(link("b"))
        assert tokens(reader) == ["a"]
    with database.read() as reader:
        assert tokens(reader) == ["a", "b"]


def test_concurrent_read_and_write_sessions_neither_fail_nor_lose_an_update(database):
    with database.write() as session:
        session.add(link("0"))

    def count_up():
        for _ in range(10):
            with database.write() as session:
                row = session.scalars(select(AccountLink).with_for_update()).one()
                session.execute(update(AccountLink).values(token_sha256=str(int(row.token_sha256) + 1)))

    assert race(*[count_up] * 8) == [None] * 8
    with database.read() as session:
        assert session.scalars(select(AccountLink.token_sha256)).one() == "80"


@pytest.mark.usefixtures("waiting_for_the_disk")
def test_sqlite_keeps_committed_data_after_a_power_failure(sqlite_url):
    database = Database(sqlite_url)
    with database.engine.connect() as connection:
        wanted: dict[str, Any] = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in wanted}
    database.dispose()
    assert found == wanted


def test_errors_do_not_contain_the_written_values(database):
    with pytest.raises(IntegrityError) as refused, database.write() as session:
        session.add_all([link("a secret"), link("a secret")])
    assert "INSERT INTO account_link" in str(refused.value)
    assert f"{NOON:%Y-%m-%d}" not in str(refused.value)


@pytest.mark.parametrize("value", [2**63, -(2**64)])
def test_number_out_of_range_for_any_column_is_reported(database, value):
    with pytest.raises(db.Unstorable, match="too large"), database.read() as session:
        session.get(AccountLink, value)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
def test_text_that_no_column_can_store_is_reported_or_stored_unchanged(database, text):
    try:
        with database.write() as session:
            session.add(link(text))
    except db.Unstorable:
        assert (database.engine.dialect.name, text) != ("sqlite", "a\0b")
    with database.read() as session:
        kept = session.scalars(select(AccountLink.token_sha256)).all()
    assert kept == (["a\0b"] if (database.engine.dialect.name, text) == ("sqlite", "a\0b") else [])


def test_sessions_continue_after_the_server_has_closed_all_connections(postgresql_url):
    database, other = Database(postgresql_url), Database(postgresql_url)
    with database.write() as session:
        session.add(link("kept"))
    with other.write() as session:
        session.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    with database.read() as session:
        assert session.scalars(select(AccountLink.token_sha256)).all() == ["kept"]
    database.dispose()
    other.dispose()


def test_stalled_writer_does_not_block_others_forever(postgresql_url, monkeypatch):
    monkeypatch.setattr(db, "TIMEOUT_SECONDS", 0.5)
    database = Database(postgresql_url)
    with database.write() as session:
        session.add(link("free"))
    locked = select(AccountLink).with_for_update()
    with pytest.raises(DBAPIError) as ended, database.write() as stopped:
        stopped.scalars(locked).one()
        with database.write() as session:
            session.scalars(locked).one().token_sha256 = "mine"
        stopped.execute(select(1))
    assert db.is_unavailable(ended.value)
    with database.read() as session:
        assert session.scalars(select(AccountLink.token_sha256)).one() == "mine"
    database.dispose()


def limits_of(session):
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    return [session.scalar(text(f"SHOW {name}")) for name in names]


@pytest.mark.parametrize("pooled", [False, pytest.param(True, marks=pytest.mark.system)])
def test_read_statements_and_waits_for_locks_are_limited_but_long_writes_are_not(
    pooled, postgresql_url, request
):
    url = request.getfixturevalue("pgbouncer").url if pooled else postgresql_url
    limited = Database(url, timeout=0.2)
    other = Database(url)
    with other.write() as session:
        session.add(link("free"))
    with pytest.raises(DBAPIError) as slow, limited.read() as session:
        session.execute(text("SELECT pg_sleep(60)"))
    locked = select(AccountLink).with_for_update()
    with other.write() as session:
        session.scalars(locked).one()
        with pytest.raises(DBAPIError) as waited, limited.write() as another:
            another.scalars(locked).one()
    with limited.write() as session:
        session.execute(text("SELECT pg_sleep(0.4)"))
        assert limits_of(session) == ["0", "200ms", "30s"]
    for database, expected in ((limited, ["200ms", "0", "0"]), (other, ["0", "0", "0"])):
        with database.read() as session:
            assert limits_of(session) == expected
    with other.write() as session:
        assert limits_of(session) == ["0", "0", "30s"]
    limited.dispose()
    other.dispose()
    assert db.is_unavailable(slow.value) and db.is_unavailable(waited.value)
    assert db.exceeded_limit(slow.value) == db.exceeded_limit(waited.value) == "30 seconds"
    assert db.exceeded_limit(PoolTimeout()) == "FAIRBOARD_WEB_THREADS"
    assert db.exceeded_limit(ValueError()) is None


def test_only_web_processes_are_limited_and_the_url_can_set_timeouts(postgresql_url, tmp_path):
    changed = make_url(postgresql_url).update_query_dict({"keepalives_idle": "7"})
    url = changed.render_as_string(hide_password=False)
    app = create_app(Settings(data_dir=tmp_path, database_url=SecretStr(url), web_threads=3))
    web, other = app.extensions["fairboard"].database, Database(url, pool_size=1)
    for database, reads, writes in ((web, "30s", ["0", "30s", "30s"]), (other, "0", ["0", "0", "30s"])):
        with database.read() as session:
            assert limits_of(session)[0] == reads
            driver: Any = session.connection().connection.driver_connection
            used = driver.info.get_parameters()
            assert (used["connect_timeout"], used["keepalives_idle"]) == ("5", "7")
        with database.write() as session:
            assert limits_of(session) == writes
    assert (web.engine.pool.size(), other.engine.pool.size()) == (3, 1)
    web.dispose()
    other.dispose()


def test_database_locked_too_long_is_unavailable_but_a_wrong_query_is_not(sqlite_url, monkeypatch):
    monkeypatch.setattr(db, "BUSY_TIMEOUT_MS", 50)
    database, other = Database(sqlite_url), Database(sqlite_url)
    with database.write() as session:
        session.connection()
        with pytest.raises(OperationalError) as locked, other.write() as another:
            another.connection()
    with pytest.raises(OperationalError) as wrong, database.read() as session:
        session.execute(text("SELECT nothing FROM nowhere"))
    database.dispose()
    other.dispose()
    assert db.is_unavailable(locked.value) and not db.is_unavailable(wrong.value)


def test_exhausted_pool_and_missing_server_are_unavailable(postgresql_url):
    nowhere = Database("postgresql+psycopg://nobody@/nothing?host=/nowhere")
    with pytest.raises(OperationalError) as refused, nowhere.read() as session:
        session.connection()
    nowhere.dispose()
    database = Database(postgresql_url)
    with pytest.raises(ProgrammingError) as wrong, database.read() as session:
        session.execute(text("SELECT nothing FROM nowhere"))
    database.dispose()
    assert db.is_unavailable(refused.value) and db.is_unavailable(PoolTimeout())
    assert not db.is_unavailable(wrong.value)
