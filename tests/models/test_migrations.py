"""The migrations: up, down, and the same tables as the models."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

import migrations
from grader.db import Base, Database
from grader.services import schema


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    sqlite = f"sqlite:///{tmp_path / 'empty.db'}"
    url = sqlite if request.param == "sqlite" else request.getfixturevalue("empty_postgresql_url")
    database = Database(url)
    yield database
    database.dispose()


def test_the_migrations_go_up_down_to_nothing_and_up_again(empty_database: Database) -> None:
    assert schema.current(empty_database) is None
    schema.upgrade(empty_database)
    assert schema.is_current(empty_database)
    schema.downgrade(empty_database, "base")
    assert set(inspect(empty_database.engine).get_table_names()) <= {"alembic_version"}
    schema.upgrade(empty_database)
    assert schema.is_current(empty_database)


def test_the_migrations_make_the_tables_that_the_models_describe(empty_database: Database) -> None:
    schema.upgrade(empty_database)
    with empty_database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []


def test_upgrading_a_current_database_changes_nothing(database: Database) -> None:
    before = schema.current(database)
    schema.upgrade(database)
    assert schema.current(database) == before


def test_processes_that_start_together_migrate_once(empty_database: Database) -> None:
    url = empty_database.engine.url.render_as_string(hide_password=False)
    program = (
        "import sys; from grader.db import Database; from grader.services import schema\n"
        "schema.upgrade(Database(sys.argv[1]))"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(3)]
    assert [process.wait(60) for process in started] == [0, 0, 0]
    assert schema.is_current(empty_database)


def test_there_is_one_newest_migration_and_they_are_numbered() -> None:
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    numbers = sorted(script.revision for script in scripts.walk_revisions())
    assert len(scripts.get_heads()) == 1
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]
