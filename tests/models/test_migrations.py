"""The initial migration: agreement with the models, other histories, concurrent upgrades."""

import re
import subprocess
import sys

import pytest
from sqlalchemy import MetaData, inspect, text

from grader.db import Database
from grader.maintenance import schema
from grader.models.base import Base
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.refusals import refused

pytestmark = [pytest.mark.both_databases, pytest.mark.system]

# Rows of these tables can be deleted, and their ids are part of logs, e-mail keys, addresses or caches.
NEVER_REUSED = {
    "announcement", "api_token", "data_file", "identity", "login", "merge_request", "organizer_job",
    "participation", "roster_entry", "scoring_version", "second_factor", "solution", "team", "team_invite",
}  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request, tmp_path):
    sqlite = f"sqlite:///{tmp_path / 'empty.db'}"
    url = sqlite if request.param == "sqlite" else request.getfixturevalue("empty_postgresql_url")
    database = Database(url)
    yield database
    database.dispose()


def definitions(connection):
    """Return the definitions of all columns, constraints and indexes, in any order."""
    if connection.dialect.name == "sqlite":
        found = connection.execute(text("SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        lines = [f"{table} {line.strip(' ,')}" for table, sql in found for line in sql.split("\n")]
        return sorted(line for line in lines if "TRIGGER" not in line and not line.startswith("alembic"))
    queries = (
        "SELECT concat_ws(' ', table_name, column_name, data_type, character_maximum_length, is_nullable, "
        "column_default) FROM information_schema.columns WHERE table_schema = 'public'",
        "SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint "
        "WHERE connamespace = 'public'::regnamespace",
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    )
    rows = [row for query in queries for row in connection.scalars(text(query))]
    return sorted(row for row in rows if "alembic_version" not in row)


def test_migration_creates_exactly_the_tables_of_the_models(empty_database):
    with empty_database.engine.connect() as connection, connection.begin() as transaction:
        # create_all changes foreign keys in a cycle, so it must not run twice on the same tables.
        copied = MetaData(naming_convention=Base.metadata.naming_convention)
        for table in Base.metadata.tables.values():
            table.to_metadata(copied)
        copied.create_all(connection)
        expected = definitions(connection)
        transaction.rollback()
    schema.upgrade(empty_database)
    with empty_database.engine.connect() as connection:
        assert definitions(connection) == expected


def test_migration_can_be_applied_reverted_and_applied_again(empty_database):
    assert schema.current(empty_database) is None
    schema.upgrade(empty_database)
    schema.upgrade(empty_database)
    assert schema.current(empty_database) == schema.head()
    with schema.migrating(empty_database) as connection:
        schema.rebuild(connection, None)
    assert set(inspect(empty_database.engine).get_table_names()) <= {"alembic_version"}
    schema.upgrade(empty_database)
    assert schema.current(empty_database) == schema.head()


def test_concurrent_processes_migrate_once(empty_database):
    url = empty_database.engine.url.render_as_string(hide_password=False)
    program = (
        "import sys; from grader.db import Database; from grader.maintenance import schema\n"
        "schema.upgrade(Database(sys.argv[1]))"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(2)]
    assert [process.wait(HANG_SECONDS) for process in started] == [0, 0]
    assert schema.current(empty_database) == schema.head()


@pytest.mark.parametrize("revision", ["0053", "9999"])
def test_database_of_another_history_is_not_changed(empty_database, revision):
    schema.upgrade(empty_database)
    with empty_database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
        before = definitions(connection)
    for change in (schema.upgrade, schema.mark_restore):
        with refused("unknown_tables", match=f"{revision}.* export the CSV files"):
            change(empty_database)
    with empty_database.engine.connect() as connection:
        assert definitions(connection) == before
    assert schema.current(empty_database) == revision


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_table_that_is_locked_too_long_is_left_unchanged(database, next_migration, monkeypatch):
    for name, value in (("LOCK_TIMEOUT_SECONDS", 1), ("PAUSE_SECONDS", 0), ("TRIES", 2)):
        monkeypatch.setattr(schema, name, value)
    with database.read() as session:
        session.execute(text("SELECT id FROM submission")).all()
        with refused("tables_in_use"):
            schema.upgrade(database)
    assert schema.current(database) != next_migration


def test_no_migration_imports_code_that_may_change():
    scripts = [path.read_text() for path in (schema.SCRIPTS / "versions").glob("*.py")]
    assert scripts
    assert not any(re.search(r"^(import|from) (grader|webapp|fairboard)", text, re.M) for text in scripts)


def test_ids_that_logs_mails_or_addresses_contain_are_never_reused():
    tables = Base.metadata.tables.values()
    assert {each.name for each in tables if each.dialect_options["sqlite"]["autoincrement"]} == NEVER_REUSED
