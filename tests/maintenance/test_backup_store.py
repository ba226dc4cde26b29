"""Backup stores: incremental copies, damage, retention, schedule and lock."""

import errno
import hashlib
import io
import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from grader import db
from grader.maintenance import backup_store, backups, doctor_checks
from grader.maintenance.backup_store import NotABackup
from grader.maintenance.backups import BackupInterrupted, CannotBackUp
from grader.models import BackupRun, Mail, User
from grader.services.site import backup_runs
from grader.services.site.backup_runs import RETRY_AFTER, BackupInProgress
from grader.settings import Settings
from grader.storage import disk
from tests.fixtures.refusals import refused

pytestmark = pytest.mark.system

DAY = timedelta(days=1)


# These tests put, read, list and delete objects; the long run also repeats the others in a bucket.
in_both = pytest.mark.parametrize("target", ["folder", "bucket"], indirect=True)


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.long)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return str(tmp_path / "backups")
    return f"{request.getfixturevalue('bucket_url')}-{tmp_path.name}"


@pytest.fixture
def configured(service, target: str) -> Settings:
    """Settings with a target."""
    return service.settings.model_copy(update={"backup_target": target})


def run(service, settings: Settings, **options):
    return backups.run(
        settings, service.database, service.storage, target=settings.backup_target or "", **options
    )


def opened(settings: Settings, name: str | None = None):
    return backups.open_backup(settings.backup_target or "", name=name)


def check(settings: Settings, name: str | None = None) -> list[str]:
    return backups.verify(opened(settings, name))


def status(service) -> backup_runs.BackupStatus:
    with service.database.read() as session:
        return backup_runs.status(session, now=db.now(session))


def store_of(settings: Settings) -> backup_store.Store:
    return backup_store.open_store(settings.backup_target or "")


@in_both
def test_second_backup_copies_only_new_content(service, configured: Settings):
    competition = service.competition()
    service.submit(competition)
    first = run(service, configured)
    again = run(service, configured)
    assert first.copied == first.record.size
    assert again.copied < first.copied / 4  # the description, the runs and their time
    service.submit(competition, seed=2)
    third = run(service, configured)
    assert third.copied > again.copied
    assert [record.name for record in store_of(configured).records()[0]] == [
        first.record.name,
        again.record.name,
        third.record.name,
    ]
    for made in (first, again, third):
        assert check(configured, name=made.record.name) == []
    found = status(service)
    assert found.last_success_at is not None and found.error is found.running_since is None


@in_both
def test_large_content_is_stored_in_pieces_and_read_back(configured: Settings):
    store, data = store_of(configured), os.urandom(1 << 20) * 20
    name = backup_store.name_of(hashlib.sha256(data).hexdigest())
    assert store.put(name, io.BytesIO(data)) == store.objects()[name] == len(data)
    with backup_store.open_object(store.files, name) as file:
        assert file.read() == data


@in_both
def test_verification_names_each_damaged_and_missing_object_and_a_new_backup_repairs_sizes(
    service, configured: Settings
):
    competition = service.competition()
    damaged, missing = (service.submit(competition, seed=seed).submission.sha256 for seed in (1, 2))
    run(service, configured)
    store = store_of(configured)
    names = [backup_store.name_of(sha256) for sha256 in (damaged, missing)]
    with store.files.open(names[0]) as file:
        content = file.read()
    store.files.put(names[0], lambda file: _write(file, content[:-9] + bytes(9)))
    store.files.delete(names[1])
    problems = check(configured)
    assert [sum(sha256 in each for each in problems) for sha256 in (damaged, missing)] == [1, 1]
    assert len(problems) == 2
    store.files.put(names[0], lambda file: _write(file, content[:-9]))
    assert run(service, configured).copied > 0
    assert check(configured) == []


def test_damaged_rows_and_description_are_found(service, target: str):
    settings = service.settings.model_copy(update={"backup_target": target})
    service.submit(service.competition())
    made = run(service, settings)
    store = store_of(settings)
    (part,) = opened(settings).contents.tables["submission"].parts
    store.files.put(part, lambda file: _write(file, b"damaged"))
    assert check(settings) == [f"The backup is damaged: the object {part} has changed."]
    store.files.put(made.record.contents, lambda file: _write(file, b"damaged"))
    with pytest.raises(NotABackup, match=f"The backup {made.record.name} is damaged"):
        opened(settings)


def test_verification_finds_missing_rows_and_a_restore_finds_rows_that_differ(
    service, configured: Settings, tmp_path: Path
):
    service.submit(service.competition())
    run(service, configured)
    backup = opened(configured)
    backup.contents.tables["submission"].row_count = 2
    assert backups.verify(backup) == ["The table submission has 1 rows instead of 2."]
    backup = opened(configured)
    backup.contents.tables["submission"].digest = "0" * 64
    other = db.Database(f"sqlite:///{tmp_path / 'other.db'}")
    with refused("cannot_restore"):
        backups.restore(configured, other, service.storage, backup)
    other.dispose()


@in_both
def test_retention_keeps_what_a_kept_backup_needs(service, configured: Settings):
    competition = service.competition()
    service.submit(competition)
    made = [run(service, configured) for _ in range(3)]
    store, now = store_of(configured), made[-1].record.made_at
    backups.prune(store, keep=DAY, now=now)
    assert len(store.records()[0]) == 3
    assert all(check(configured, name=each.record.name) == [] for each in made)
    backups.prune(store, keep=now - made[1].record.made_at, now=now)
    assert [each.name for each in store.records()[0]] == [made[2].record.name]
    assert store.objects() == made[2].record.objects
    backups.prune(store, keep=timedelta(), now=now + 1000 * DAY)  # The last one is kept.
    assert check(configured) == []


def test_retention_keeps_the_last_undamaged_backup(service, configured: Settings):
    service.submit(service.competition())
    first, second = run(service, configured), run(service, configured)
    store = store_of(configured)
    store.files.delete(second.record.contents)
    backups.prune(store, keep=timedelta(), now=second.record.made_at + DAY)
    assert [each.name for each in store.records()[0]] == [first.record.name]
    assert check(configured) == []


def test_retention_deletes_nothing_if_a_record_is_unreadable(service, configured: Settings, caplog):
    service.competition()
    made = run(service, configured)
    store = store_of(configured)
    record = made.record.model_dump(mode="json")
    for number, content in enumerate(
        (record | {"format": 3}, record | {"made_at": "2026-01-05T12:00:00"}, [record], None)
    ):
        store.files.put(f"backups/{number}.json", lambda file: _write(file, json.dumps(content).encode()))  # noqa: B023
    assert len(store.records()[1]) == 4
    orphan = "objects/00/" + "0" * 64
    store.files.put(orphan, lambda file: _write(file, b"x"))
    again = run(service, configured)
    assert orphan in store.objects() and "No old backups were deleted." in caplog.text
    assert [each.name for each in store.records()[0]] == [made.record.name, again.record.name]


@pytest.mark.parametrize("name", ["../victim", "20260101T000000000000Z", "/etc/passwd", ""])
def test_forged_record_names_no_other_file(service, configured: Settings, name: str):
    service.competition()
    run(service, configured)
    files, (record,) = store_of(configured).files, store_of(configured).records()[0]
    files.put("victim.json", lambda target: _write(target, b"{}"))
    forged = record.model_copy(update={"name": name, "made_at": record.made_at - timedelta(days=999)})
    text = forged.model_dump_json().encode()
    files.put("backups/20250101T000000000000Z.json", lambda target: _write(target, text))
    records, (problem,) = store_of(configured).records()
    assert records == [record] and "20250101T000000000000Z.json is damaged" in problem
    run(service, configured)  # prunes
    assert files.sizes("").get("victim.json") == 2
    assert len(store_of(configured).records()[0]) == 2


@pytest.mark.parametrize("name", ["../../secret", "/etc/passwd", "backups/x.json", "objects/aa/../../secret"])
def test_forged_object_name_is_not_opened(service, configured: Settings, tmp_path: Path, name: str):
    service.competition()
    run(service, configured)
    (tmp_path / "secret").write_bytes(b"{}")
    store, (record,) = store_of(configured), store_of(configured).records()[0]
    store.put_record(record.model_copy(update={"contents": name}))
    with pytest.raises(NotABackup, match="is not the name of an object"):
        opened(configured)
    store.put_record(record)
    backup = opened(configured)
    backup.contents.tables["user_account"].parts[:] = [name]
    assert "is not the name of an object" in backups.verify(backup)[0]


def test_target_in_the_blob_storage_is_rejected(service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://localhost:1")
    folder = (tmp_path / "blobs").as_uri()
    for storage, target, is_inside, same in (
        (folder, f"{tmp_path}/blobs", True, True),
        (folder, f"{tmp_path}/x/../blobs/backups", True, True),
        (folder, str(tmp_path), False, False),
        (folder, f"{tmp_path}/blobs2", False, False),
        (folder, "s3://blobs", False, False),
        ("s3://a", "s3://a", True, True),
        ("s3://a", "s3://a/b", True, True),
        ("s3://a/b", "s3://a", False, True),
        ("s3://a/b", "s3://a/c", False, True),
        ("s3://a", "s3://b", False, False),
    ):
        settings = service.settings.model_copy(update={"storage_url": storage})
        assert backup_store.is_in_storage(settings, target) is is_inside, (storage, target)
        assert backup_store.is_in_storage(settings, target, whole_bucket=True) is same
    inside = service.settings.model_copy(update={"backup_target": f"{service.settings.data_dir}/blobs"})
    with pytest.raises(CannotBackUp, match="is in the blob storage"):
        run(service, inside)
    assert "in the blob storage" in (status(service).error or "")


def test_a_backup_that_waits_for_the_lock_starts_after_the_wait(service, tmp_path):
    service.settings.data_dir.mkdir(exist_ok=True)
    held, released = threading.Event(), threading.Event()

    def hold():
        with service.database.write() as session:
            backup_runs.hold_lock(session)
            held.set()
            released.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    before = datetime.now(UTC)
    threading.Timer(0.3, released.set).start()
    backups.run(service.settings, service.database, service.storage, target=str(tmp_path / "backup"))
    holder.join()
    with service.database.read() as session:
        run = session.scalars(select(BackupRun)).one()
    assert run.started_at >= before + timedelta(seconds=0.3)


def test_only_one_backup_runs_at_a_time_and_a_dead_one_is_replaced(service):
    with service.database.write() as session:
        first = backup_runs.begin(session, target="/x", now=service.now)
    with service.database.write() as session, pytest.raises(BackupInProgress):
        backup_runs.begin(session, target="/x", now=service.now + backup_runs.LEASE / 2)
    later = service.now + 2 * backup_runs.LEASE
    with service.database.write() as session:
        backup_runs.begin(session, target="/x", now=later)
    with service.database.write() as session, refused("backup_lost"):
        backup_runs.renew(session, run_id=first.id, now=later)
    with service.database.read() as session:
        assert session.get_one(BackupRun, first.id).error == backup_runs.ENDED_EARLY


def test_schedule_catches_up_and_retries_after_a_pause(service):
    interval, now = DAY, service.now

    def due(at) -> bool:
        with service.database.read() as session:
            return backup_runs.is_due(session, target="/x", interval=interval, now=at)

    def begin(at) -> int:
        with service.database.write() as session:
            return backup_runs.begin(session, target="/x", now=at).id

    assert due(now)
    run_id = begin(now)
    assert not due(now)
    with service.database.write() as session:
        backup_runs.succeed(session, run_id=run_id, name="a", size_bytes=1, copied_bytes=1, now=now)
    assert not due(now + interval * 0.99)
    assert due(now + interval) and due(now + 9 * interval)
    run_id = begin(now + interval)
    with service.database.write() as session:
        backup_runs.fail(session, run_id=run_id, error="Full.", is_scheduled=True, now=now + interval)
    assert not due(now + interval + RETRY_AFTER / 2)
    assert due(now + interval + RETRY_AFTER)
    with service.database.write() as session:  # A backup in another place replaces no scheduled one.
        run_id = backup_runs.begin(session, target="/usb", now=now + interval + RETRY_AFTER).id
        backup_runs.succeed(session, run_id=run_id, name="b", size_bytes=1, copied_bytes=1, now=now)
    assert due(now + interval + RETRY_AFTER)


def test_administrators_receive_one_email_until_a_backup_succeeds(service, configured: Settings, monkeypatch):
    service.competition()
    user = service.user("ada")
    with service.database.write() as session:
        stored = session.get_one(User, user.id)
        stored.is_admin, stored.email, stored.email_verified_at = True, "ada@example.org", service.now

    def full(*_: Any):
        raise OSError(errno.ENOSPC, "No space left on device")

    def mails() -> list[Mail]:
        with service.database.read() as session:
            return list(session.scalars(select(Mail).where(Mail.key.contains("backup"))))

    run(service, configured)
    with monkeypatch.context() as patch:
        patch.setattr(backup_store.Store, "put", full)
        service.submit(service.competition("second"))
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                run(service, configured)
    (mail,) = mails()
    assert "A disk is full." in mail.body and "The last complete backup contains" in mail.body
    assert status(service).error == disk.FULL and status(service).failing_since is not None
    with service.database.read() as session:
        (finding,) = doctor_checks.of_backups(configured, session)
    assert finding.level == "alarm" and "A disk is full." in finding.message
    run(service, configured)
    assert status(service).error is None and check(configured) == []
    with monkeypatch.context() as patch:
        patch.setattr(backup_store.Store, "put_record", full)
        with pytest.raises(OSError, match="No space"):
            run(service, configured)
    assert len(mails()) == 2


def test_full_disk_under_a_draft_leaves_the_last_backup_usable(service, tmp_path: Path, monkeypatch):
    settings = service.settings.model_copy(update={"backup_target": str(tmp_path / "b")})
    service.competition()
    run(service, settings)
    service.submit(service.competition("second"))

    def fsync(descriptor: int):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with pytest.raises(OSError, match="No space"):
            run(service, settings)
    assert list((tmp_path / "b" / "drafts").iterdir()) == []
    assert list(settings.data_dir.glob("backup-scratch-*")) == []
    assert check(settings) == []


def test_interrupted_backup_can_be_repeated_at_once(service, configured: Settings):
    service.submit(service.competition())
    calls = iter([False] * 5)
    with pytest.raises(BackupInterrupted):
        run(service, configured, is_stopped=lambda: next(calls, True))
    assert store_of(configured).records() == ([], [])
    with service.database.read() as session:
        assert session.scalars(select(BackupRun)).all() == []
    run(service, configured)
    assert check(configured) == []


def test_lost_lease_ends_a_backup_before_it_is_complete(service, configured: Settings, monkeypatch):
    service.submit(service.competition())
    monkeypatch.setattr(backups, "RENEW_SECONDS", 0)
    monkeypatch.setattr(backup_runs, "LEASE", timedelta())
    with refused("backup_lost"):
        run(service, configured)
    assert store_of(configured).records() == ([], [])


def test_object_that_disappears_during_a_backup_is_noticed(service, configured: Settings, monkeypatch):
    service.submit(service.competition())
    run(service, configured)
    service.submit(service.competition("second"))
    listed = store_of(configured).objects()
    monkeypatch.setattr(backup_store.Store, "objects", lambda _: listed)
    with pytest.raises(CannotBackUp, match=r"\d objects disappeared"):
        run(service, configured)


def test_backup_deleted_while_the_backups_are_listed_is_left_out(service, configured: Settings, monkeypatch):
    service.competition()
    run(service, configured)
    store = store_of(configured)
    listed = store.files.sizes("backups")
    monkeypatch.setattr(type(store.files), "sizes", lambda *_: {"backups/deleted.json": 9, **listed})
    assert [len(each) for each in store.records()] == [1, 0]


def test_the_doctor_reports_missed_and_unscheduled_backups(service, configured: Settings):
    def finding(settings: Settings) -> doctor_checks.DoctorFinding:
        with service.database.read() as session:
            (found,) = doctor_checks.of_backups(settings, session)
        return found

    unscheduled = service.settings
    assert finding(unscheduled).level == "warning" and "not scheduled" in finding(unscheduled).message
    assert finding(configured).level == "alarm" and "There is no backup." in finding(configured).message
    service.competition()
    run(service, configured)
    assert [finding(each).level for each in (configured, unscheduled)] == ["ok", "ok"]
    with service.database.write() as session:
        session.scalars(select(BackupRun)).one().started_at -= 2 * DAY
    assert "The sweeper should make one." in finding(configured).message
    assert finding(unscheduled).level == "ok"
    with service.database.write() as session:
        session.scalars(select(BackupRun)).one().started_at -= 9 * DAY
    assert finding(unscheduled).level == "warning"
    with service.database.write() as session:
        backup_runs.begin(session, target="elsewhere", now=db.now(session))
    assert finding(configured).level == "ok" and "A backup is in progress." in finding(configured).message


def _write(file, data: bytes):
    file.write(data)
