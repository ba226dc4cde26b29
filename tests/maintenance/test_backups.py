"""Backups: completeness, damage, retention, schedule and lock; no secrets; restore on another machine."""

import errno
import gzip
import os
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import MetaData, func, select, text
from sqlalchemy.exc import DBAPIError

from grader import db
from grader.db import Database
from grader.maintenance import backups, database_copies, doctor_checks
from grader.maintenance.backup_store import Store
from grader.maintenance.database_copies import NotABackup
from grader.models import (
    AuditEntry,
    BackupRun,
    Competition,
    Mail,
    OrganizerJobKind,
    SubmissionStatus,
    User,
)
from grader.services.site import backup_runs, organizer_jobs, outbox
from grader.services.site.backup_runs import RETRY_AFTER, BackupInProgress
from grader.services.submissions import scoring_jobs as jobs
from grader.settings import Settings
from grader.storage import disk, stores
from grader.storage.stores import Storage, open_storage
from grader.worker.scorer import Scorer
from tests.fixtures.refusals import refused

pytestmark = pytest.mark.system

DAY = timedelta(days=1)
# These tests put, read, list and delete objects; the long run also repeats the others in a bucket.
in_both = pytest.mark.parametrize("target", ["folder", "bucket"], indirect=True)


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.long)])
def target(request, tmp_path):
    if request.param == "folder":
        return str(tmp_path / "backups")
    return f"{request.getfixturevalue('bucket_url')}-{tmp_path.name}"


@pytest.fixture
def configured(service, target):
    """Settings with a target."""
    return service.settings.model_copy(update={"backup_target": target})


def run(service, settings, **options):
    return backups.run(
        settings, service.database, service.storage, target=settings.backup_target or "", **options
    )


def check(settings, name=None):
    return backups.verify(backups.open_backup(settings.backup_target or "", name=name))


def status(service):
    with service.database.read() as session:
        return backup_runs.status(session)


def runs(service):
    with service.database.read() as session:
        return session.scalars(select(BackupRun).order_by(BackupRun.id)).all()


def store_of(settings):
    return Store(settings.backup_target or "")


def make_backup(service, folder, settings=None, **options):
    settings = settings or service.settings
    return backups.make(settings, service.database, service.storage, Store(str(folder)), **options)


@dataclass
class Elsewhere:
    """An empty installation, as if on another machine."""

    settings: Settings
    database: Database
    storage: Storage

    def restore(self, target, **options):
        backup = backups.open_backup(str(target), **options)
        return backups.restore(self.database, self.storage, backup)

    def score_all(self):
        scorer = Scorer(self.database, self.storage, lease=timedelta(seconds=40))
        with self.database.read() as session:
            waiting = jobs.waiting(session, older_than=timedelta(), limit=1000, now=db.now(session))
        for job_id in waiting:
            assert scorer.run(job_id)


@pytest.fixture
def elsewhere(request, database, tmp_path):
    folder = tmp_path / "elsewhere"
    url = f"sqlite:///{folder / 'fairboard.db'}"
    if database.engine.dialect.name == "postgresql":
        url = request.getfixturevalue("empty_postgresql_url")
    settings = Settings(data_dir=folder, database_url=SecretStr(url), secret_key=SecretStr("not so secret"))
    other = Database(settings.database(), pool_size=4)
    yield Elsewhere(settings, other, open_storage(settings.storage()))
    other.dispose()


@in_both
def test_second_backup_copies_only_new_content(service, configured):
    competition = service.competition()
    service.submit(competition)
    first = run(service, configured)
    again = run(service, configured)
    assert first.copied == first.record.size
    assert again.copied < first.copied / 4  # the runs and their time
    service.submit(competition, seed=2)
    third = run(service, configured)
    assert third.copied > again.copied
    names = [each.record.name for each in (first, again, third)]
    assert [record.name for record in store_of(configured).records()[0]] == names
    assert [check(configured, name) for name in names] == [[], [], []]
    last, *others = status(service)
    assert last.id == 3 and others == [[], None]


@pytest.mark.both_databases
def test_restored_installation_has_every_row_and_blob_and_continues(service, elsewhere, tmp_path):
    competition = service.competition()
    service.score(service.submit(competition), service.submit(competition, user="bob", seed=2))
    before = _rows(service.database)
    make_backup(service, tmp_path / "backup")
    assert elsewhere.restore(tmp_path / "backup") == 0
    assert _rows(elsewhere.database) == before
    assert {blob.sha256 for blob in elsewhere.storage.blobs()} == {
        blob.sha256 for blob in service.storage.blobs()
    }
    with refused("cannot_restore", match="not empty"):
        elsewhere.restore(tmp_path / "backup")
    service.database, service.storage = elsewhere.database, elsewhere.storage
    accepted = service.submit(competition, seed=3)
    service.score(accepted)
    assert service.submission(accepted).status is SubmissionStatus.SCORED
    with pytest.raises(DBAPIError), elsewhere.database.write() as session:
        session.execute(text("UPDATE audit_entry SET reason = 'none'"))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_backup_of_either_database_is_restored_into_the_other(service, request, tmp_path, target):
    competition = service.competition()
    service.score(service.submit(competition))
    with service.database.write() as session:
        # Values that the databases store differently.
        session.get_one(Competition, competition.id).overview = "Ünïcode \\N \t 1e400 \U0001f642"
        organizer_jobs.add(
            session,
            competition=competition,
            kind=OrganizerJobKind.CHECK,
            parameters={"b": 1e22, "a": [0.1, None, 2**60, "\u2028", -0.0], "": {}},
            now=service.now,
        )
    installations = [service]
    for number, url in enumerate((request.getfixturevalue("empty_postgresql_url"), None)):
        made = make_backup(installations[-1], target)
        assert backups.verify(backups.open_backup(target, name=made.record.name)) == []
        settings = Settings(
            data_dir=tmp_path / f"elsewhere {number}",
            database_url=url and SecretStr(url),
            secret_key=SecretStr("s"),
        )
        other = Elsewhere(settings, Database(settings.database()), open_storage(settings.storage()))
        other.restore(target, name=made.record.name)
        installations.append(other)
    assert _rows(installations[-1].database) == _rows(service.database)
    first, last = (make_backup(each, target).record for each in (service, installations[-1]))
    assert first.blobs == last.blobs
    for each in installations[1:]:
        each.database.dispose()


def test_restored_installation_does_not_wait_for_workers_of_the_lost_one(service, elsewhere, tmp_path):
    competition = service.competition()
    (scoring_id,) = service.submit(competition).job_ids
    lease = timedelta(days=36_500)
    with service.database.write() as session:
        check_id = organizer_jobs.add(
            session,
            competition=competition,
            kind=OrganizerJobKind.CHECK,
            now=service.now,
        ).id
        assert jobs.claim(session, job_id=scoring_id, lease=lease, now=service.now)
        assert organizer_jobs.claim(session, job_id=check_id, now=db.now(session))
    make_backup(service, tmp_path / "backup")
    elsewhere.restore(tmp_path / "backup")
    with elsewhere.database.write() as session:
        now = db.now(session)
        scoring = jobs.claim(session, job_id=scoring_id, lease=lease, now=now)
        check = organizer_jobs.claim(session, job_id=check_id, now=now)
        assert (scoring.attempt, check.attempt_count) == (1, 1)


def test_restored_installation_sends_no_email_twice(service, elsewhere, tmp_path):
    competition = service.competition()
    service.verify_addresses("ada")
    with service.database.write() as session:
        outbox.write(session, to_address="ada@example.org", subject="Waits", body="…", now=db.now(session))
    pending = service.submit(competition)
    make_backup(service, tmp_path / "backup")
    # After the backup, the first installation sends the e-mail about this score.
    service.score(pending)
    assert len(_outbox(service)) == 2
    assert elsewhere.restore(tmp_path / "backup") == 1
    elsewhere.score_all()
    assert _outbox(elsewhere) == []
    service.database, service.storage = elsewhere.database, elsewhere.storage
    service.score(service.submit(competition, seed=9))
    (mail,) = _outbox(elsewhere)  # New events still cause e-mails.
    assert mail.subject.endswith("scored")


def test_backup_contains_no_secrets_and_lists_the_required_ones(service, tmp_path):
    service.competition()
    secret = {"secret_key": "the-secret-key-itself", "smtp_password": "the-smtp-password"}
    settings = service.settings.model_copy(
        update={name: SecretStr(value) for name, value in secret.items()}
        | {"contact": "Ada <ada@example.org>"}
    )
    folder = tmp_path / "backup"
    record = make_backup(service, folder, settings).record
    assert folder.stat().st_mode & 0o077 == 0
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            content += gzip.decompress(content) if content[:2] == b"\x1f\x8b" else b""
            assert b"the-secret" not in content and b"the-smtp" not in content
    needed = backups.needed_secrets(settings)
    assert "FAIRBOARD_SECRET_KEY" in needed[0] and "FAIRBOARD_SMTP_PASSWORD." in needed
    assert record.settings["contact"] == "Ada <ada@example.org>"
    assert record.secret_key_mark == backups.mark(settings) != backups.mark(service.settings)


def test_blob_missing_or_damaged_before_the_backup_is_named(service, tmp_path):
    competition = service.competition()
    gone, damaged = (service.submit(competition, seed=seed).submission.sha256 for seed in (1, 2))
    service.storage.delete(gone)
    next((service.settings.data_dir / "blobs").rglob(damaged)).write_bytes(b"other")
    assert make_backup(service, tmp_path / "backup").unusable == {gone, damaged}


def test_incomplete_or_changed_backup_is_not_restored(service, elsewhere, tmp_path):
    sha256 = service.submit(service.competition()).submission.sha256
    with pytest.raises(NotABackup, match="contains no complete backup"):
        elsewhere.restore(tmp_path)
    a, b, c = (tmp_path / name for name in "abc")
    for folder in (a, b, c):
        make_backup(service, folder)
    next((a / "objects").rglob(sha256)).write_bytes(b"other")
    with pytest.raises(NotABackup, match=f"missing or damaged: {sha256}"):
        elsewhere.restore(a)
    next((a / "objects").rglob(sha256)).unlink()
    with pytest.raises(NotABackup, match=f"missing or damaged: {sha256}"):
        elsewhere.restore(a)
    (part,) = backups.open_backup(str(b))[1].tables["submission"].parts
    path = b / "objects" / part[:2] / part
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(NotABackup, match=r"Blob \w+ is damaged"):
        elsewhere.restore(b)
    assert database_copies.is_empty(elsewhere.database)
    elsewhere.restore(c)  # An attempt that failed leaves the installation usable.


@in_both
def test_verification_names_each_damaged_and_missing_object_and_a_new_backup_repairs_sizes(
    service, configured, tmp_path
):
    competition = service.competition()
    truncated, missing = (service.submit(competition, seed=seed).submission.sha256 for seed in (1, 2))
    run(service, configured)
    objects = store_of(configured).objects
    objects.delete(missing)
    with objects.open(truncated) as file:
        objects.put(file.read()[:-9], sha256=truncated)  # under the name of the whole file
    problems = check(configured)
    assert [sum(sha256 in each for each in problems) for sha256 in (truncated, missing)] == [1, 1]
    assert len(problems) == 2
    assert run(service, configured).copied > 0
    assert check(configured) == []


def test_missing_rows_are_found_by_the_verification_and_by_the_restore(service, configured, elsewhere):
    service.submit(service.competition())
    run(service, configured)
    backup = backups.open_backup(configured.backup_target or "")
    backup[1].tables["submission"].row_count = 2
    assert backups.verify(backup) == ["The table submission has 1 rows instead of 2."]
    with pytest.raises(NotABackup, match="1 rows instead of 2"):
        backups.restore(elsewhere.database, elsewhere.storage, backup)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_backup_of_another_version_is_rejected(service, elsewhere, tmp_path):
    service.competition()
    record = make_backup(service, tmp_path / "backup").record
    changed = record.model_copy(update={"revision": "0053"})
    with pytest.raises(NotABackup, match=r"made the backup .* with the schema 0053"):
        backups.restore(elsewhere.database, elsewhere.storage, (Store("/"), changed))
    copy = database_copies.TableCopy([], 0, {"/etc/passwd": 1})
    for unknown in ({"format": 3}, {"blobs": {"../../secret": 1}}, {"tables": {"team": copy}}):
        store = Store(str(tmp_path / f"{next(iter(unknown))}"))
        store.add_record(record.model_copy(update=unknown))
        with pytest.raises(NotABackup, match="damaged, or another version"):
            elsewhere.restore(store.target)


@in_both
def test_retention_keeps_what_a_kept_backup_needs(service, configured):
    service.submit(service.competition())
    made = [run(service, configured) for _ in range(3)]
    store, now = store_of(configured), made[-1].record.made_at
    backups.prune(store, keep=DAY, now=now)
    assert len(store.records()[0]) == 3
    assert all(check(configured, name=each.record.name) == [] for each in made)
    backups.prune(store, keep=now - made[1].record.made_at, now=now)
    assert [each.name for each in store.records()[0]] == [made[2].record.name]
    assert store.sizes() == made[2].record.objects
    backups.prune(store, keep=timedelta(), now=now + 1000 * DAY)  # The last one is kept.
    assert check(configured) == []


def test_retention_keeps_the_last_undamaged_backup_and_deletes_nothing_beside_an_unreadable_record(
    service, configured, caplog
):
    service.submit(service.competition())
    first, second = run(service, configured), run(service, configured)
    store = store_of(configured)
    (only,) = set(second.record.objects) - set(first.record.objects)
    store.objects.delete(only)
    store.add_record(first.record.model_copy(update={"format": 3}))
    backups.prune(store, keep=timedelta(), now=second.record.made_at + DAY)
    assert "No old backups were deleted." in caplog.text and len(store.records()[0]) == 2
    (other,) = {blob.sha256 for blob in store._records.blobs()} - {
        each.record._sha256 for each in (first, second)
    }
    store._records.delete(other)
    backups.prune(store, keep=timedelta(), now=second.record.made_at + DAY)
    assert [each.name for each in store.records()[0]] == [first.record.name]
    assert check(configured) == []


def test_target_in_the_blob_storage_is_rejected(service, tmp_path):
    folder = (tmp_path / "blobs").as_uri()
    for storage, target, is_inside in (
        (folder, f"{tmp_path}/x/../blobs/backups", True),
        (folder, f"{tmp_path}/blobs2", False),
        ("s3://a", "s3://a/b", True),
        ("s3://a/b", "s3://a", False),
        ("s3://a", "s3://b", False),
    ):
        assert stores.contains(storage, target) is is_inside, (storage, target)
    inside = service.settings.model_copy(update={"backup_target": f"{service.settings.data_dir}/blobs"})
    with refused("cannot_back_up"):
        run(service, inside)
    assert "in the blob storage" in status(service).failures[-1].error


@pytest.mark.both_databases
def test_only_one_backup_runs_at_a_time_and_an_interrupted_one_can_be_repeated_at_once(
    service, configured, monkeypatch
):
    service.submit(service.competition())
    with backup_runs.locked(service.database, configured.data_dir), pytest.raises(BackupInProgress):
        run(service, configured)
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(Store, "add_record", lambda *_: sys.exit(0))
        run(service, configured)
    assert [each.error for each in runs(service)] == [None]
    assert status(service).last is None
    run(service, configured)
    assert [each.error for each in runs(service)] == [backup_runs.ENDED_EARLY, None]
    assert check(configured) == []


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_lock_of_backups_may_be_lost_before_its_end(service):
    """A restart of the server does not affect the copies of blobs."""
    kill = (
        "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database "
        "WHERE locktype = 'advisory' AND datname = current_database()"
    )
    locked = backup_runs.locked(service.database, service.settings.data_dir)
    with locked, service.database.read() as session:
        assert session.execute(text(kill)).all() == [(True,)]


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
    assert not due(now) and due(now + RETRY_AFTER)  # It has been killed.
    with service.database.write() as session:
        backup_runs.succeed(session, run_id=run_id, now=now)
    assert not due(now + interval * 0.99)
    assert due(now + interval) and due(now + 9 * interval)
    run_id = begin(now + interval)
    with service.database.write() as session:
        backup_runs.fail(session, run_id=run_id, error="Full.", is_scheduled=True, now=now + interval)
    assert not due(now + interval + RETRY_AFTER / 2)
    assert due(now + interval + RETRY_AFTER)
    with service.database.write() as session:  # A backup in another place replaces no scheduled one.
        run_id = backup_runs.begin(session, target="/usb", now=now + interval + RETRY_AFTER).id
        backup_runs.succeed(session, run_id=run_id, now=now)
    assert due(now + interval + RETRY_AFTER)


def test_a_full_disk_leaves_the_last_backup_usable_and_administrators_receive_one_email(
    service, configured, monkeypatch
):
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
    service.submit(service.competition("second"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        patch.setattr("grader.storage.bucket.stores.copy_bytes", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                run(service, configured)
    (mail,) = mails()
    assert "A disk is full." in mail.body and "The last complete backup contains" in mail.body
    assert status(service).failures[-1].error == disk.FULL
    with service.database.read() as session:
        (finding,) = doctor_checks.of_backups(configured, session)
    assert finding.level == "alarm" and "A disk is full." in finding.message
    run(service, configured)
    assert status(service).failures == [] and check(configured) == []
    with monkeypatch.context() as patch:
        patch.setattr(Store, "add_record", full)
        with pytest.raises(OSError, match="No space"):
            run(service, configured)
    assert len(mails()) == 2


def test_object_that_disappears_during_a_backup_is_noticed(service, configured, monkeypatch):
    service.submit(service.competition())
    run(service, configured)
    service.submit(service.competition("second"))
    listed = store_of(configured).sizes()
    monkeypatch.setattr(Store, "sizes", lambda _: listed)
    with refused("cannot_back_up", match=r"\d objects disappeared"):
        run(service, configured)


def test_restored_installation_lists_the_backup_from_which_it_was_restored(service, elsewhere, configured):
    service.competition()
    made = [run(service, configured) for _ in range(2)]
    elsewhere.restore(configured.backup_target or "")
    settings = elsewhere.settings.model_copy(update={"backup_target": configured.backup_target})
    with elsewhere.database.read() as session:
        last, *others = backup_runs.status(session)
        assert (last.id, last.ended_at, others) == (2, made[-1].record.made_at, [[], None])
        (finding,) = doctor_checks.of_backups(settings, session)
        assert finding.level == "ok"


def test_the_doctor_reports_missed_and_unscheduled_backups(service, configured):
    def levels() -> list[str]:
        with service.database.read() as session:
            both = [doctor_checks.of_backups(each, session) for each in (configured, service.settings)]
            return [finding.level for findings in both for finding in findings]

    def grow_older(days: int) -> None:
        with service.database.write() as session:
            session.scalars(select(BackupRun)).one().started_at -= days * DAY

    assert levels() == ["alarm", "warning"]
    service.competition()
    run(service, configured)
    assert levels() == ["ok", "ok"]
    grow_older(2)
    assert levels() == ["alarm", "ok"]
    grow_older(9)
    assert levels() == ["alarm", "warning"]
    with service.database.write() as session:
        backup_runs.begin(session, target=configured.backup_target, now=db.now(session))
    assert levels() == ["ok", "ok"]  # A backup is in progress.


def test_without_enough_space_no_backup_is_started(service, tmp_path, monkeypatch):
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: 1000)
    with refused("cannot_back_up", match="too little disk space"):
        make_backup(service, tmp_path / "backup")
    with refused("cannot_back_up"):
        backups.copy_before_upgrade(service.settings, service.database)
    assert not (tmp_path / "backup").exists() and not (service.settings.data_dir / "backups").exists()


def _rows(database):
    metadata = MetaData()
    with database.engine.connect() as connection:
        metadata.reflect(connection)
        return {
            name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for name, table in metadata.tables.items()
        }


def _outbox(installation):
    """Return the e-mails that the mailer would send now."""
    with installation.database.read() as session:
        now = db.now(session)
        assert session.scalar(select(func.count()).select_from(AuditEntry))
        return list(session.scalars(outbox._waiting(now)))
