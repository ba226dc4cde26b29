"""Maintenance commands: backup, restore, migrate (from older tables), doctor."""

import json
import os
import re
from types import SimpleNamespace

import pytest
from sqlalchemy import text

from grader import build, db
from grader.cli import installation
from grader.db import Database
from grader.maintenance import backups, doctor_checks, schema
from grader.sandbox.lockdown import Layers
from grader.services.site import outbox
from grader.settings import HostMetrics
from grader.worker.scheduled_tasks import check_storage

OLDER = "0001"
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def older(settings, database, next_migration):
    """An installation whose tables have an older version."""
    return database


def test_migrate_backs_older_tables_up_and_reports_both_steps(admin, older, settings):
    other = settings.data_dir / "backups" / "mine"
    other.mkdir(parents=True)
    result = admin("migrate")
    assert result.exit_code == 0, result.output
    said = re.search(rf"older schema \({OLDER}\)\. A backup is in (\S+)\.\n", result.stdout)
    _, record = backups.open_backup(said[1])
    assert (record.revision, record.blobs, other.is_dir()) == (OLDER, {}, True)
    assert result.stdout.endswith(f"The database schema is at {schema.head()}.\n")
    first, second = (admin("migrate", "--for-serve").stdout for _ in range(2))
    assert first.startswith("/setup/") and second.startswith("/setup/") and first != second


def test_a_backup_of_an_older_version_is_restored_with_current_tables(
    admin, older, settings, monkeypatch, tmp_path, request
):
    folder = re.search(r"backup is in (\S+)\.", admin("migrate").stdout)[1]
    url = f"sqlite:///{tmp_path}/other/fairboard.db"
    if older.engine.dialect.name == "postgresql":
        url = request.getfixturevalue("empty_postgresql_url")
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", url)
    result = admin("restore", folder)
    assert result.exit_code == 0, result.output
    assert "This backup contains no blobs" in result.stdout
    restored = Database(url)
    assert schema.current(restored) == schema.head()
    restored.dispose()


@on_sqlite
def test_a_backup_is_created_verified_and_restored_by_commands(admin, service, monkeypatch, tmp_path):
    target = tmp_path / "backups"
    service.score(service.submit(service.competition()))
    with service.database.write() as session:
        outbox.write(session, to_address="ada@example.org", subject="Waits", body="…", now=db.now(session))
    made = admin("backup", "create", target)
    assert made.exit_code == 0, made.output
    assert re.search(r"backup \w+ with the database as of \S+ and 5 blobs \(.* new bytes\)", made.stdout)
    assert (
        "Not in the backup, but needed for a restore:\n- the secret key, FAIRBOARD_SECRET_KEY" in made.stdout
    )
    monkeypatch.setenv("FAIRBOARD_BACKUP_TARGET", str(target))
    assert admin("backup", "create").exit_code == 0
    listed = json.loads(admin("backup", "list", "--json").stdout)["backups"]
    assert [(each["blobs"], each["missing_objects"]) for each in listed] == [(5, 0)] * 2
    assert re.fullmatch(r".+\n(\S+ +\d+ +5 +0\n){2}", admin("backup", "list").stdout)
    verified = admin("backup", "verify", "--backup", listed[0]["name"])
    assert re.match(r"The backup as of \S+ is complete: all tables and 5 blobs match\.", verified.stdout)
    assert "not empty" in admin("restore", target).stderr
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "other"))
    monkeypatch.delenv("FAIRBOARD_DATABASE_URL")
    monkeypatch.setenv("FAIRBOARD_SECRET_KEY", "another key")
    restored = admin("restore")
    assert restored.exit_code == 0, restored.output
    assert re.match(rf"Restored the state as of \S+: 5 blobs, schema {schema.head()}\.", restored.stdout)
    assert "copy that key into FAIRBOARD_SECRET_KEY." in restored.stdout
    assert "e-mails that will not be sent, because they may have been sent already: 1." in restored.stdout


@on_sqlite
def test_an_incomplete_backup_is_listed_and_fails_its_verification(admin, service, tmp_path):
    sha256 = service.submit(service.competition()).submission.sha256
    assert "Specify a folder or a bucket, or set FAIRBOARD_BACKUP_TARGET." in admin("backup", "create").stderr
    assert "expected a folder or s3://bucket/prefix." in admin("backup", "create", "").stderr
    assert "contains no complete backup." in admin("restore", tmp_path).stderr
    empty = admin("backup", "list", tmp_path / "empty")
    assert (empty.exit_code, "contains no backup." in empty.stderr) == (0, True)
    assert admin("backup", "create", tmp_path / "backups").exit_code == 0
    next((tmp_path / "backups").rglob(sha256)).unlink()
    listed = admin("backup", "list", tmp_path / "backups")
    assert (listed.exit_code, listed.stdout.endswith(" 1\n")) == (1, True)
    verified = admin("backup", "verify", tmp_path / "backups")
    assert verified.exit_code == 1
    assert re.search(rf"cannot be restored completely:\n.*{sha256} is missing or damaged", verified.stderr)


@on_sqlite
def test_the_doctor_lists_orphans_and_deletes_them_only_with_the_option(admin, service):
    service.competition()
    old = service.storage.put(b"old").sha256
    os.utime(next((service.settings.data_dir / "blobs").rglob(old)), (0, 0))
    assert "1 unreferenced blob (3 bytes) will" in admin("doctor").stdout
    assert service.storage.exists(old)
    assert "Deleted: 1 blob (3 bytes)." in admin("doctor", "--delete-orphans").stderr
    assert not service.storage.exists(old)


@on_sqlite
def test_only_the_sweeper_accepts_newer_tables_during_a_rolling_upgrade(admin, service):
    with service.database.write() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    for command in (("backup", "create", "/nowhere"), ("user", "create", "ada"), ("migrate",)):
        refused = admin(*command)
        assert (refused.exit_code, "the schema 9999" in refused.stderr) == (1, True), command
    with installation.opened(with_newer_tables=True) as found:
        assert schema.current(found.database) != schema.head()


def findings(admin, *options):
    result = admin("doctor", "--json", *options)
    found = json.loads(result.stdout)["findings"]
    return result.exit_code, [(each["level"], each["subject"], each["message"]) for each in found]


@on_sqlite
def test_the_doctor_reports_no_problem_in_a_sound_installation(admin, service):
    service.score(service.submit(service.competition()))
    result = admin("doctor", "--read-all")
    assert (result.exit_code, "ALARM" in result.stdout) == (0, False), result.output
    assert "ok       storage: The storage contains all 5 required blobs, and all of them are" in result.stdout


@on_sqlite
def test_the_doctor_names_rows_with_missing_blobs_and_damaged_blobs(admin, service):
    competition = service.competition()
    gone, damaged = (service.submit(competition, seed=seed).submission for seed in (1, 2))
    service.storage.delete(gone.sha256)
    next((service.settings.data_dir / "blobs").rglob(damaged.sha256)).write_bytes(b"other")
    code, found = findings(admin)
    assert code == 1
    (alarm,) = [message for level, subject, message in found if (level, subject) == ("alarm", "storage")]
    assert f"submission {gone.id} ({gone.sha256[:12]}…)." in alarm
    _, found = findings(admin, "--read-all")
    assert any(f"Blobs are damaged: {damaged.sha256}" in message for _, _, message in found)


@on_sqlite
def test_the_doctor_reports_stopped_scoring_and_an_unreachable_broker(admin, service, monkeypatch):
    service.submit(service.competition())
    monkeypatch.setenv("FAIRBOARD_BROKER_URL", "redis://127.0.0.1:1/0")
    code, found = findings(admin)
    assert code == 1
    assert any(
        level == "alarm" and "Scoring has stopped: a job has been waiting" in text for level, _, text in found
    )
    assert any(level == "warning" and "only the sweeper scores" in text for level, _, text in found)


@on_sqlite
def test_the_doctor_stops_at_tables_of_another_version(admin, older):
    code, found = findings(admin)
    assert code == 1
    assert any(f"schema is {OLDER}, but this version needs" in message for _, _, message in found)
    assert not any(subject == "storage" for _, subject, _ in found)


@on_sqlite
def test_the_doctor_lists_the_layers_of_the_sandbox(admin, service, monkeypatch):
    (found,) = [each for each in findings(admin)[1] if each[1] == "sandbox"]
    assert found[0] == "ok" and "Active sandbox layers for metrics written in Python" in found[2]
    none = Layers((), {"seccomp": "the kernel has none"})
    monkeypatch.setattr(doctor_checks, "layers", lambda: none)
    (found,) = doctor_checks.of_sandbox(service.settings)
    assert (found.level, "the kernel has none. Uploads" in found.message) == ("warning", True)
    off = service.settings.model_copy(update={"host_metrics": HostMetrics.OFF})
    assert [each.level for each in doctor_checks.of_sandbox(off)] == ["ok"]


@on_sqlite
def test_the_doctor_continues_without_a_database_and_without_storage(admin, service, monkeypatch):
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", "postgresql://u:geheim@127.0.0.1:1/nothing")
    monkeypatch.setenv("FAIRBOARD_STORAGE_URL", "file:///dev/null/blobs")
    code, found = findings(admin)
    alarms = {subject: message for level, subject, message in found if level == "alarm"}
    assert code == 1
    assert "(FAIRBOARD_DATABASE_URL)" in alarms["database"]
    assert (
        "Check its free space, its permissions and its address (FAIRBOARD_STORAGE_URL)" in alarms["storage"]
    )
    assert "arithmetic" in {subject for _, subject, _ in found} and "geheim" not in str(found)


@pytest.mark.parametrize(
    ("folder", "words"), [("mistyped", "does not exist."), ("site", "contains no site.")]
)
def test_the_doctor_writes_nothing(run, monkeypatch, tmp_path, folder, words):
    (tmp_path / "site").mkdir()
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / folder))
    result = run("doctor")
    assert result.exit_code == 1
    assert f"The data folder {tmp_path / folder} {words}" in result.output
    assert list(tmp_path.rglob("*")) == [tmp_path / "site"]


def test_serve_needs_the_reserve_and_a_writable_disk(run, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("FAIRBOARD_DISK_RESERVE_MB", "1000000000")
    full = run("serve", "--port", "0")
    assert (full.exit_code, full.stderr.count("\n")) == (1, 1)
    assert "but 1,000,000,000 MB are required." in full.stderr
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert "is on a read-only file system." in run("serve", "--port", "0").stderr


@pytest.mark.parametrize("command", [("doctor",), ("user", "list"), ("serve", "--port", "0")])
def test_a_damaged_database_is_reported_in_one_sentence(run, monkeypatch, tmp_path, command, capfd):
    (tmp_path / "fairboard.db").write_bytes(b"no database at all" * 1000)
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path))
    result = run(*command)
    assert result.exit_code == 1
    printed = result.output + capfd.readouterr().err  # `serve` migrates in another process
    assert "The database cannot be used: file is not a database." in printed


@on_sqlite
def test_an_unreachable_bucket_is_reported_in_one_sentence(admin, service, monkeypatch):
    service.submit(service.competition())
    monkeypatch.setenv("FAIRBOARD_STORAGE_URL", "s3://misspelt/x")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "test")
    backup = admin("backup", "create", str(service.settings.data_dir / "copy"))
    assert (backup.exit_code, "Error: The storage cannot be used: " in backup.stderr) == (1, True)
    assert "Traceback" not in backup.stderr


@on_sqlite
def test_the_doctor_checks_permissions_and_the_key(admin, service, settings, monkeypatch):
    settings.data_dir.chmod(0o755)
    monkeypatch.setenv("FAIRBOARD_SECRET_KEY", "hush")
    _, found = findings(admin)
    warnings = [message for level, _, message in found if level == "warning"]
    for words in (
        f"Other users of this machine can read {settings.data_dir}. Run: chmod go= {settings.data_dir}",
        "The secret key has only 4 characters",
    ):
        assert any(words in message for message in warnings), (words, warnings)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_the_doctor_warns_of_a_postgresql_that_does_not_sync(database):
    (finding,) = (each for each in doctor_checks.of_tables(database) if each.subject == "database")
    # The test server runs with these two settings off.
    assert (finding.level, "fsync, full_page_writes" in finding.message) == ("alarm", True)


def test_the_daily_run_deletes_orphans_and_reports_rows_without_a_blob(service, caplog):
    gone = service.submit(service.competition()).submission
    orphan = service.storage.put(b"old").sha256
    os.utime(next((service.settings.data_dir / "blobs").rglob(orphan)), (0, 0))
    service.storage.delete(gone.sha256)
    check_storage(service.database, service.storage)
    assert not service.storage.exists(orphan)
    assert f"Alarm: Blobs are missing for submission {gone.id}." in caplog.text


def test_the_build_is_that_of_the_checkout_or_of_the_package(run, monkeypatch, tmp_path):
    assert re.fullmatch(r"fairboard \d+\.\d+\.\d+ \(build [0-9a-f]{12}(-dirty)?\)\n", run("--version").stdout)
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "FILE", tmp_path / "build.txt")
    assert build.build_id() == "unknown"
    build.FILE.write_text("0123456789ab\n")
    assert build.build_id() == "0123456789ab"
