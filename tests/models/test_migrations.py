"""The migrations: up, down, and the same tables as the models."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, Table, inspect, select, text

import migrations
from grader.db import Base, Database
from grader.maintenance import schema
from tests.fixtures.patience import HANG_SECONDS

NOON = datetime(2026, 1, 5, 12, 0, 0, 123, tzinfo=UTC)
HASH = "0" * 64

OLD_ROWS: dict[str, list[dict[str, Any]]] = {
    "user_account": [
        {
            "id": number,
            "name": name,
            "name_key": name.casefold(),
            "password_hash": "hash",
            "is_admin": False,
            "created_at": NOON,
        }
        for number, name in enumerate(("Ada", "Bob"), 1)
    ],
    "competition": [
        {
            "id": number,
            "slug": slug,
            "title": slug,
            "overview": "",
            "state": state,
            "opens_at": NOON,
            "closes_at": NOON,
            "revealed_at": revealed_at,
            "created_at": NOON,
            "live_scoring_version_id": None,
        }
        for number, (slug, state, revealed_at) in enumerate(
            (("running", "published", None), ("revealed", "revealed", NOON)), 1
        )
    ],
    "team": [{"id": 1, "competition_id": 1, "name": "Ada", "name_key": "ada", "created_at": NOON}],
    "team_member": [
        {
            "id": user_id,
            "competition_id": 1,
            "team_id": 1,
            "user_id": user_id,
            "joined_at": NOON - timedelta(hours=user_id),
        }
        for user_id in (1, 2)
    ],
    "submission": [
        {
            "id": number,
            "competition_id": 1,
            "team_id": 1,
            "user_id": 1,
            "sha256": HASH,
            "size_bytes": 10,
            "file_name": "a.csv",
            "description": "",
            "status": status,
            "submitted_at": NOON,
            "finished_at": None,
            "problems": [],
            "notes": [],
            "incident": None,
        }
        for number, status in enumerate(("scored", "rejected"), 1)
    ],
}
NEW_COLUMNS = {
    "competition": [{"slug": "", "max_daily_submissions": 0, "takes_late_submissions": False}],
    "participation": [{"user_id": 0, "state": "", "rules_version": 0, "bound_team_id": 0}],
    "team": [{"name": "", "leader_id": 0, "merged_into_id": 0}],
    "submission": [{"status": "", "slot_day": None, "kind": "", "is_selected": False}],
}


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


def test_people_teams_and_submissions_survive_the_second_migration_there_and_back(
    empty_database: Database,
) -> None:
    schema.upgrade(empty_database, "0001")
    _insert(empty_database, OLD_ROWS)
    before = _read(empty_database, OLD_ROWS)
    schema.upgrade(empty_database, "0002")
    first = _read(empty_database, NEW_COLUMNS)
    schema.downgrade(empty_database, "0001")
    assert _read(empty_database, OLD_ROWS) == before
    schema.upgrade(empty_database, "0002")
    assert _read(empty_database, NEW_COLUMNS) == first
    assert first == {
        "competition": [
            {"slug": "running", "max_daily_submissions": None, "takes_late_submissions": False},
            {"slug": "revealed", "max_daily_submissions": None, "takes_late_submissions": False},
        ],
        "participation": [
            {"user_id": 1, "state": "accepted", "rules_version": 1, "bound_team_id": 1},
            {"user_id": 2, "state": "accepted", "rules_version": 1, "bound_team_id": 1},
        ],
        "team": [{"name": "Ada", "leader_id": 2, "merged_into_id": None}],
        "submission": [
            {"status": "scored", "slot_day": date(2026, 1, 5), "kind": "normal", "is_selected": False},
            {"status": "rejected", "slot_day": None, "kind": "normal", "is_selected": False},
        ],
    }


def test_a_competition_that_ended_before_the_upgrade_is_not_revealed_by_it(empty_database: Database) -> None:
    schema.upgrade(empty_database, "0001")
    _insert(empty_database, OLD_ROWS)
    schema.upgrade(empty_database)
    rows = _read(empty_database, {"competition": [{"reveals_at": None}]})["competition"]
    running, revealed = (row["reveals_at"] for row in rows)
    assert running is not None and _utc(running) > datetime.now(UTC) + timedelta(days=6)
    assert revealed is None


def test_upgrading_a_current_database_changes_nothing(database: Database) -> None:
    before = schema.current(database)
    schema.upgrade(database)
    assert schema.current(database) == before


def test_processes_that_start_together_migrate_once(empty_database: Database) -> None:
    url = empty_database.engine.url.render_as_string(hide_password=False)
    program = (
        "import sys; from grader.db import Database; from grader.maintenance import schema\n"
        "schema.upgrade(Database(sys.argv[1]))"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(3)]
    assert [process.wait(HANG_SECONDS) for process in started] == [0, 0, 0]
    assert schema.is_current(empty_database)


def test_names_that_are_there_already_stay_even_if_they_look_alike(empty_database: Database) -> None:
    schema.upgrade(empty_database, "0001")
    accounts = "INSERT INTO user_account (name, name_key, password_hash, is_admin, created_at) VALUES "
    values = "(:name, :key, '', false, '2026-01-01 00:00:00+00:00')"
    with empty_database.engine.begin() as connection:
        for name in ("Modem", "modern", "Ada"):
            connection.execute(text(accounts + values), {"name": name, "key": name.lower()})
    schema.upgrade(empty_database)
    with empty_database.engine.connect() as connection:
        rows = connection.execute(
            text("SELECT name, name_folded, name_key FROM user_account ORDER BY id")
        ).all()
    assert [tuple(row) for row in rows] == [
        ("Modem", "modem", "rnodern"),
        ("modern", "modern", "rnodern\x1f2"),
        ("Ada", "ada", "ada"),
    ]
    schema.downgrade(empty_database, "0001")
    with empty_database.engine.connect() as connection:
        keys = connection.execute(text("SELECT name_key FROM user_account ORDER BY id")).scalars().all()
    assert keys == ["modem", "modern", "ada"]


def test_the_second_migration_gives_the_keys_that_it_gave_when_it_was_written(
    empty_database: Database,
) -> None:
    keys = {
        "Ada": "ada",
        "paypaI": "paypal",
        "Grace Hopper": "grace hopper",
        "modern": "rnodern",
        "\u00dcnal": "u\u0308nal",
        "\u2167": "vlll",
        "\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2": "ol\u0301ou\u0278oo",
        "\u674e\u660e": "\u674e\u660e",
        "Stra\u00dfe": "strasse",
        "Team Alpha.": "tearn alpha.",
        "p\u0430yme": "payrne",
    }
    schema.upgrade(empty_database, "0001")
    accounts = "INSERT INTO user_account (name, name_key, password_hash, is_admin, created_at) VALUES "
    values = "(:name, :name, '', false, '2026-01-01 00:00:00+00:00')"
    with empty_database.engine.begin() as connection:
        for name in keys:
            connection.execute(text(accounts + values), {"name": name})
    schema.upgrade(empty_database, "0002")
    with empty_database.engine.connect() as connection:
        rows = connection.execute(text("SELECT name, name_key FROM user_account")).all()
    assert {row.name: row.name_key for row in rows} == keys


def test_no_migration_imports_code_that_may_change() -> None:
    folder = Path(migrations.__file__).parent
    scripts = [*(folder / "versions").glob("*.py"), *(folder / "frozen").glob("*.py")]
    assert scripts
    assert [script.name for script in scripts if "grader" in script.read_text(encoding="utf-8")] == []


def test_there_is_one_newest_migration_and_their_numbers_ascend() -> None:
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    numbers = [script.revision for script in scripts.walk_revisions()][::-1]
    assert len(scripts.get_heads()) == 1
    assert numbers == sorted(numbers) and all(len(number) == 4 for number in numbers)


def _insert(database: Database, rows: Mapping[str, Sequence[dict[str, Any]]]) -> None:
    with database.engine.begin() as connection:
        for name, lines in rows.items():
            connection.execute(Table(name, MetaData(), autoload_with=connection).insert(), list(lines))


def _read(
    database: Database, columns: Mapping[str, Sequence[dict[str, Any]]]
) -> dict[str, list[dict[str, Any]]]:
    """Return all rows of these tables in the columns of the first line of each."""
    found = {}
    with database.engine.connect() as connection:
        for name, lines in columns.items():
            table = Table(name, MetaData(), autoload_with=connection)
            query = select(*(table.c[column] for column in lines[0])).order_by(table.c.id)
            found[name] = [dict(row) for row in connection.execute(query).mappings()]
    return found


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def test_going_down_shows_no_score_that_is_hidden_until_the_reveal(empty_database: Database) -> None:
    schema.upgrade(empty_database)
    with empty_database.write() as session:
        session.execute(
            text(
                "INSERT INTO competition (id, slug, title, state, feedback, overview, created_at) "
                "VALUES (1, 'a', 'A', 'published', 'ladder', '', :now)"
            ),
            {"now": NOON},
        )
    with pytest.raises(RuntimeError, match="1 published competitions hide their scores until the reveal"):
        schema.downgrade(empty_database, "0009")
    with empty_database.write() as session:
        session.execute(text("UPDATE competition SET state = 'archived'"))
    schema.downgrade(empty_database, "0009")
    with empty_database.read() as session:
        assert session.scalar(text("SELECT feedback FROM competition")) == "score"


def test_hidden_standings_of_coarse_competitions_are_computed_again(empty_database: Database) -> None:
    schema.upgrade(empty_database, "0019")
    with empty_database.write() as session:
        for number, (feedback, revealed_at) in enumerate(
            (("ladder", None), ("ladder", NOON), ("open", None)), 1
        ):
            session.execute(
                text(
                    "INSERT INTO competition (id, slug, title, state, feedback, overview, created_at, "
                    "settled_at, revealed_at) "
                    "VALUES (:id, :slug, 'A', 'published', :feedback, '', :now, :now, :revealed_at)"
                ),
                {
                    "id": number,
                    "slug": str(number),
                    "feedback": feedback,
                    "revealed_at": revealed_at,
                    "now": NOON,
                },
            )
    schema.upgrade(empty_database)
    with empty_database.read() as session:
        found = session.scalars(text("SELECT settled_at IS NULL FROM competition ORDER BY id"))
        assert [bool(each) for each in found] == [True, False, False]
