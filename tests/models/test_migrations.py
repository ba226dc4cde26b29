"""Migrations: upgrade, downgrade, agreement of tables and models."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, inspect, select, text

import migrations
from grader.db import Base, Database
from grader.maintenance import schema
from grader.models import AuditEntry, Competition, Mail, Score, Split, Standing, SubmissionGrant, Team
from tests.fixtures.patience import HANG_SECONDS

pytestmark = [pytest.mark.both_databases, pytest.mark.system]

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def renaming(team_id: int, before: str, after: str, reason: str) -> dict[str, Any]:
    return act(team_id, "team.rename") | {
        "before": {"name": before},
        "after": {"name": after},
        "reason": reason,
    }


def act(team_id: int, action: str) -> dict[str, Any]:
    return {
        "competition_id": 1,
        "at": NOON,
        "origin": "shell",
        "action": action,
        "subject": f"team [team {team_id}]",
        "before": {},
        "after": {},
        "reason": "",
        "is_public": False,
        "public_text": "",
    }


ROWS_OF_0023: dict[str, list[dict[str, Any]]] = {
    "competition": [
        {"id": 1, "slug": "a", "title": "A", "overview": "", "state": "published", "created_at": NOON}
    ],
    "team": [
        {"id": number, "competition_id": 1, "name": name, "name_key": name, "created_at": NOON}
        for number, name in enumerate(("Third", "Neutral", "Freed"), 1)
    ],
    "audit_entry": [
        renaming(1, "First", "Second", "Rude."),
        renaming(1, "Second", "Third", "Rude too."),
        renaming(2, "Rude", "Given", "Rude."),  # This user's account was deleted afterwards.
        renaming(3, "Bad", "Freed", "Rude."),
        act(3, "team.free_name"),
    ],
}


ROWS_OF_0029: dict[str, list[dict[str, Any]]] = {
    "competition": ROWS_OF_0023["competition"],
    "team": [
        {
            "id": number,
            "competition_id": 1,
            "name": f"{number}",
            "name_key": f"{number}",
            "created_at": NOON,
            "merged_into_id": into,
        }
        for number, into in ((3, None), (2, 3), (1, 2), (4, None))
    ],
    "submission_grant": [
        {
            "competition_id": 1,
            "team_id": team_id,
            "day": NOON.date(),
            "count": 1,
            "reason": "",
            "granted_at": NOON,
        }
        for team_id in (None, 1, 2, 3, 4)
    ],
    # Team 5 was deleted after its disqualification.
    "audit_entry": [act(5, "team.disqualify")],
}
# Rows of these tables are never deleted, or their ids appear nowhere.
REUSABLE = {
    "account_link", "announced_upload", "audit_entry", "backup_run", "competition", "content_state",
    "daily_rank", "dispute", "factor_step", "fair_play_mark", "figure", "final_board", "final_standing",
    "kept_identity", "known_address", "login_place", "mail", "notification", "organizer", "paired_difference",
    "recovery_code", "repeatable_request", "score", "scoring_job", "setup_link", "standing", "submission",
    "submission_grant", "tally", "team_member", "user_account", "webhook_delivery",
}  # fmt: skip


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    sqlite = f"sqlite:///{tmp_path / 'empty.db'}"
    url = sqlite if request.param == "sqlite" else request.getfixturevalue("empty_postgresql_url")
    database = Database(url)
    yield database
    database.dispose()


def test_migrations_can_be_applied_reverted_and_applied_again(empty_database: Database):
    assert schema.current(empty_database) is None
    schema.upgrade(empty_database)
    assert schema.is_current(empty_database)
    schema.downgrade(empty_database, "base")
    assert set(inspect(empty_database.engine).get_table_names()) <= {"alembic_version"}
    schema.upgrade(empty_database)
    assert schema.is_current(empty_database)


def test_migrations_create_the_tables_of_the_models(empty_database: Database):
    schema.upgrade(empty_database)
    with empty_database.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "include_object": _is_in_use}
        )
        assert compare_metadata(context, Base.metadata) == []


# Processes of the previous version use these tables and columns during an upgrade. A migration of the next
# release drops them.
TERMS_OF_0040 = ("overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc")
NO_LONGER_USED = {"score_basis", "shown_units", "feedback_key", "avatar_key", *TERMS_OF_0040}


def _is_in_use(_object: object, name: str | None, *_: object) -> bool:
    return name not in NO_LONGER_USED


def test_upgrade_of_a_current_database_changes_nothing(database: Database):
    before = schema.current(database)
    schema.upgrade(database)
    assert schema.current(database) == before


def test_concurrent_processes_migrate_once(empty_database: Database):
    url = empty_database.engine.url.render_as_string(hide_password=False)
    program = (
        "import sys; from grader.db import Database; from grader.maintenance import schema\n"
        "schema.upgrade(Database(sys.argv[1]))"
    )
    started = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(2)]
    assert [process.wait(HANG_SECONDS) for process in started] == [0, 0]
    assert schema.is_current(empty_database)


def test_no_migration_imports_code_that_may_change():
    folder = Path(migrations.__file__).parent
    scripts = list((folder / "versions").glob("*.py"))
    assert scripts
    assert [script.name for script in scripts if "grader" in script.read_text(encoding="utf-8")] == []


def test_there_is_one_newest_migration_and_numbers_ascend():
    scripts = ScriptDirectory(str(Path(migrations.__file__).parent))
    numbers = [script.revision for script in scripts.walk_revisions()][::-1]
    assert len(scripts.get_heads()) == 1
    assert numbers == schema.revisions() and all(len(number) == 4 for number in numbers)


def test_organizers_team_names_are_read_from_the_audit_log(empty_database: Database):
    schema.upgrade(empty_database, "0023")
    with empty_database.engine.begin() as connection:
        tables = MetaData()
        tables.reflect(connection, only=["competition", "team", "audit_entry"])
        for name, rows in ROWS_OF_0023.items():
            connection.execute(tables.tables[name].insert(), rows)
    schema.upgrade(empty_database)
    with empty_database.read() as session:
        found = session.execute(
            select(Team.name, Team.name_given_at, Team.name_given_because, Team.names_taken_away).order_by(
                Team.id
            )
        )
        assert [tuple(row) for row in found] == [
            ("Third", NOON, "Rude too.", ["First", "Second"]),
            ("Neutral", None, "", ["Rude"]),
            ("Freed", None, "", None),
        ]


def test_upgrade_of_filled_tables_keeps_rows_and_moves_grants_of_merged_teams(empty_database: Database):
    schema.upgrade(empty_database, "0029")
    with empty_database.engine.begin() as connection:
        tables = MetaData()
        tables.reflect(connection, only=list(ROWS_OF_0029))
        for name, rows in ROWS_OF_0029.items():
            for row in rows:
                connection.execute(tables.tables[name].insert(), row)
    schema.upgrade(empty_database)
    with empty_database.write() as session:
        assert session.execute(select(Team.id, Team.merged_into_id).order_by(Team.id)).all() == [
            (1, 2), (2, 3), (3, None), (4, None)
        ]  # fmt: skip
        owners = session.scalars(select(SubmissionGrant.team_id).order_by(SubmissionGrant.id)).all()
        assert owners == [None, 3, 3, 3, 4]
        # PostgreSQL's sequences do not follow the ids that this test inserted.
        if session.get_bind().dialect.name == "sqlite":
            added = Team(competition_id=1, name="New", name_key="new", created_at=NOON)
            session.add(added)
            session.flush()
            assert added.id > 5


def test_ids_that_logs_mails_or_addresses_contain_are_never_reused_on_sqlite(tmp_path: Path):
    database = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    schema.upgrade(database)
    kept = {
        table.name
        for table in Base.metadata.tables.values()
        if table.dialect_options["sqlite"]["autoincrement"]
    }
    with_ids = {
        table.name for table in Base.metadata.tables.values() if table.primary_key.columns.keys() == ["id"]
    }
    assert with_ids - kept == REUSABLE
    query = text("SELECT name FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%'")
    with database.read() as session:
        assert set(session.scalars(query)) == kept
        assert session.scalars(text("SELECT name FROM sqlite_sequence")).all() == []
    database.dispose()


# Per competition: mode, whether it is revealed, and the expected mode and public standing. The second file
# has the better score, but with a step of 0.02 both files are in the band that starts at 0.9.
REMOVED_MODES = {
    1: ("ladder", False, "tiered", (1, 90_000)),
    2: ("noised", False, "tiered", (3, 90_000)),
    3: ("ladder", True, "tiered", (6, 88_888)),
    4: ("terms", False, "score", (8, 88_888)),
}


BEFORE_FOUR_MODES = "0030"
HASH = "0" * 64
SOLUTION: dict[str, Any] = {
    "number": 1,
    "row_ids_sha256": HASH,
    "prepared_sha256": HASH,
    "sample_submission_sha256": HASH,
    "row_count": 4,
    "public_row_count": 2,
    "private_row_count": 2,
    "report": {},
    "uploaded_at": NOON,
}
VERSION: dict[str, Any] = {
    "number": 1,
    "metric_settings": {},
    "metric_code_version": "1",
    "reason": "",
    "state": "live",
    "created_by": "organizer",
    "created_at": NOON,
}
SUBMISSION: dict[str, Any] = {
    "user_id": 1,
    "sha256": HASH,
    "size_bytes": 1,
    "file_name": "a.csv",
    "description": "",
    "status": "scored",
    "kind": "normal",
    "problems": [],
    "notes": [],
}
TERMS = dict.fromkeys(TERMS_OF_0040, 0.9)
SCORE: dict[str, Any] = {"split": "public", "counts": {}, "created_at": NOON, **TERMS}


def _fill_with_removed_modes(connection: Connection):
    tables = MetaData()
    tables.reflect(connection)

    def add(table: str, **values: Any):
        connection.execute(tables.tables[table].insert().values(**values))

    address = {"email": "o@example.org", "email_verified_at": NOON}
    names = dict.fromkeys(("name", "name_folded", "name_key"), "organizer")
    add("user_account", id=1, password_hash="", is_admin=False, created_at=NOON, **names, **address)
    for number, (mode, is_revealed, *_) in REMOVED_MODES.items():
        add(
            "competition",
            id=number,
            slug=f"c{number}",
            title="C",
            overview="",
            feedback=mode,
            feedback_step="0.02",
            state="revealed" if is_revealed else "published",
            revealed_at=NOON if is_revealed else None,
            created_at=NOON,
        )
        add("organizer", competition_id=number, user_id=1, role="owner", added_at=NOON)
        add("team", id=number, competition_id=number, name="T", name_key="t", created_at=NOON)
        add("solution", **SOLUTION | {"id": number, "competition_id": number})
        add("scoring_version", **VERSION | {"id": number, "competition_id": number, "solution_id": number})
        for place, score in ((1, 0.90001), (2, 0.91)):
            submission = 2 * (number - 1) + place
            add(
                "submission",
                **SUBMISSION
                | {
                    "id": submission,
                    "competition_id": number,
                    "team_id": number,
                    "submitted_at": NOON + timedelta(hours=place),
                },
            )
            add(
                "score", **SCORE | {"submission_id": submission, "scoring_version_id": number, "score": score}
            )
        add(
            "standing",
            scoring_version_id=number,
            split="public",
            team_id=number,
            submission_id=2 * number,
            score_units=88_888,
            submitted_at=NOON,
        )


def test_removed_feedback_modes_become_the_remaining_ones(empty_database: Database):
    schema.upgrade(empty_database, BEFORE_FOUR_MODES)
    with empty_database.engine.begin() as connection:
        _fill_with_removed_modes(connection)
    schema.upgrade(empty_database)
    with empty_database.read() as session:
        for number, (mode, is_revealed, successor, standing) in REMOVED_MODES.items():
            own = session.get_one(Competition, number)
            assert own.feedback.value == successor
            (row,) = session.scalars(select(Standing).where(Standing.scoring_version_id == number))
            assert (row.submission_id, row.score_units) == standing
            entries = session.scalars(select(AuditEntry).where(AuditEntry.competition_id == number)).all()
            assert [entry.is_public for entry in entries] == ([] if is_revealed else [True])
            assert all(mode in entry.public_text for entry in entries)
        letters = session.scalars(select(Mail)).all()
        assert [letter.to_address for letter in letters] == ["o@example.org"] * 3


# Doubles with 17 digits, of very different sizes.
STORED_TERMS = [
    dict(zip(TERMS_OF_0040, values, strict=True))
    for values in ((0.1 + 0.2, 1 / 3, 5e-324, 1.0), (0.0, 2 / 3, 0.7 + 1e-16, 1 - 2**-53))
]


def _add_scores(tables: MetaData, connection: Connection, first: int, scores: list[dict[str, Any]]):
    for number, values in enumerate(scores, first):
        row = {
            "id": number,
            "submission_id": 1,
            "scoring_version_id": number,
            "split": "public",
            "score": values["bnsp_auc"],
            "counts": {"rows": number},
            "created_at": NOON,
        }
        connection.execute(
            tables.tables["scoring_version"].insert(),
            VERSION | {"id": number, "competition_id": 1, "number": number, "solution_id": 1},
        )
        connection.execute(tables.tables["score"].insert(), row | values)


def test_terms_of_stored_scores_are_equal_to_the_last_bit_for_both_versions(empty_database: Database):
    schema.upgrade(empty_database, "0040")
    with empty_database.engine.begin() as connection:
        tables = MetaData()
        tables.reflect(connection)
        add = {name: table.insert() for name, table in tables.tables.items()}
        names = dict.fromkeys(("name", "name_folded", "name_key"), "organizer")
        connection.execute(
            add["user_account"],
            {"id": 1, "password_hash": "", "is_admin": False, "created_at": NOON, **names},
        )
        connection.execute(add["competition"], ROWS_OF_0023["competition"][0])
        connection.execute(
            add["team"], {"id": 1, "competition_id": 1, "name": "T", "name_key": "t", "created_at": NOON}
        )
        connection.execute(add["solution"], SOLUTION | {"id": 1, "competition_id": 1})
        connection.execute(
            add["submission"], SUBMISSION | {"id": 1, "competition_id": 1, "team_id": 1, "submitted_at": NOON}
        )
        _add_scores(tables, connection, 1, STORED_TERMS)
    schema.upgrade(empty_database)
    with empty_database.engine.begin() as connection:
        _add_scores(tables, connection, 11, STORED_TERMS)  # as a process of the previous version
    with empty_database.write() as session:
        stored = session.scalars(select(Score).order_by(Score.id)).all()
        assert [each.terms for each in stored] == STORED_TERMS * 2
        assert [each.score for each in stored] == [each["bnsp_auc"] for each in STORED_TERMS] * 2
        assert [each.evidence["rows"] for each in stored] == [1, 2, 11, 12]
        assert [each.groups for each in stored] == [{}] * 4
        session.add_all(
            Score(
                id=100 + number,
                submission_id=1,
                scoring_version_id=number,
                split=Split.PRIVATE,
                score=0.5,
                terms=terms,
                evidence={},
                created_at=NOON,
            )
            for number, terms in zip((1, 2, 11), [*STORED_TERMS, {"rmse": 1.5}], strict=True)
        )
    with empty_database.engine.connect() as connection:
        score = tables.tables["score"]
        added = (
            connection.execute(select(score).where(score.c.split == "private").order_by(score.c.id))
            .mappings()
            .all()
        )
        assert [{name: row[name] for name in TERMS_OF_0040} for row in added] == [
            *STORED_TERMS,
            dict.fromkeys(TERMS_OF_0040),
        ]
    with empty_database.read() as session:
        assert session.scalar(
            select(Score.terms).where(Score.score == 0.5).order_by(Score.id.desc()).limit(1)
        ) == {"rmse": 1.5}
