"""`fairboard backup`, `restore`, `migrate` of older tables, `orphans` and `doctor`."""

import json
import os
import re
from pathlib import Path

import pytest

from grader.db import Database
from grader.services import schema
from grader.supervisor.service import _prepare_database

OLDER = "0002"


@pytest.fixture
def admin(run, settings, monkeypatch):
    """Run `fairboard` on the installation of the fixture `service`."""
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    return run


@pytest.fixture
def older(settings, database):
    """An installation whose tables are of an older version."""
    schema.downgrade(database, OLDER)
    yield database
    schema.upgrade(database)


def test_older_tables_are_backed_up_then_changed_and_both_is_said(admin, older, settings):
    result = admin("migrate")
    assert result.exit_code == 0, result.output
    said = re.search(rf"older version \({OLDER}\)\. The database is backed up in (\S+)\.\n", result.stdout)
    manifest = json.loads((Path(said[1]) / "backup.json").read_text())
    assert (manifest["revision"], manifest["with_blobs"]) == (OLDER, False)
    assert result.stdout.endswith(f"From {OLDER} to {schema.head()}.\n")
    assert "backed up" not in admin("migrate").stdout


def test_older_tables_can_be_changed_without_a_backup(admin, older, settings):
    result = admin("migrate", "--without-backup")
    assert result.stdout == f"From {OLDER} to {schema.head()}.\n"
    assert not (settings.data_dir / "backups").exists()


def test_a_backup_of_an_older_version_is_restored_with_the_tables_of_this_one(
    admin, older, settings, monkeypatch, tmp_path, request
):
    folder = re.search(r"backed up in (\S+)\.", admin("migrate").stdout)[1]
    url = f"sqlite:///{tmp_path}/other/fairboard.db"
    if older.engine.dialect.name == "postgresql":
        url = request.getfixturevalue("empty_postgresql_url")
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", url)
    result = admin("restore", folder)
    assert result.exit_code == 0, result.output
    assert "This backup has no blobs" in result.stdout
    restored = Database(url)
    assert schema.is_current(restored)
    restored.dispose()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_backup_is_made_and_restored_by_commands(admin, service, monkeypatch, tmp_path):
    service.score(service.submit(service.competition()))
    made = admin("backup", tmp_path / "backup")
    assert made.exit_code == 0, made.output
    assert re.search(r"the database of \S+ and 4 blobs", made.stdout)
    assert "Not in it, and needed for a restore:\n- The secret key, FAIRBOARD_SECRET_KEY" in made.stdout
    again = admin("backup", tmp_path / "backup")
    assert again.exit_code == 1 and "Name a new folder" in again.stderr
    assert "not empty" in admin("restore", tmp_path / "backup").stderr

    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "other"))
    monkeypatch.delenv("FAIRBOARD_DATABASE_URL")
    restored = admin("restore", tmp_path / "backup")
    assert restored.exit_code == 0, restored.output
    assert re.match(r"Everything is as it was at \S+: 4 blobs", restored.stdout)
    assert "toxicity" in admin("competition", "list").stdout


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_orphans_are_told_and_deleted_only_when_it_is_said(admin, service):
    service.competition()
    old = service.storage.put(b"old").sha256
    os.utime(next((service.settings.data_dir / "blobs").rglob(old)), (0, 0))
    told = admin("orphans")
    assert told.stdout.startswith("1 blobs of 3 bytes are named by no row")
    assert service.storage.exists(old)
    assert admin("orphans", "--delete").stdout == "1 blobs of 3 bytes are deleted.\n"
    assert not service.storage.exists(old)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_serve_backs_older_tables_up_before_it_changes_them_and_says_so(settings, older):
    said = []
    _prepare_database(settings, said.append)
    assert [re.sub(r"backed up in \S+", "backed up in …", line) for line in said] == [
        f"The tables are of an older version ({OLDER}). The database is backed up in …",
        f"The tables are those of this version ({schema.head()}) now.",
    ]
    assert schema.is_current(older)
    said.clear()
    _prepare_database(settings, said.append)
    assert said == []
