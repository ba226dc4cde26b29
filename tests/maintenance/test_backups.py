"""SQLite and PostgreSQL backups: completeness, no secrets, restore on another machine."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import MetaData, func, select, text
from sqlalchemy.exc import DBAPIError

from grader import db
from grader.db import Database
from grader.maintenance import backup_store, backups, database_copies, doctor_checks, schema
from grader.maintenance.backup_store import NotABackup
from grader.maintenance.backups import CannotBackUp, Made
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
from grader.services.submissions import scoring_jobs as jobs
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.worker.scorer import Scorer
from tests.fixtures.refusals import refused

pytestmark = pytest.mark.system


@dataclass
class Elsewhere:
    """An empty installation, as if on another machine."""

    settings: Settings
    database: Database
    storage: Storage

    def restore(self, folder: Path):
        backup = backups.open_backup(str(folder))
        return backups.restore(self.settings, self.database, self.storage, backup)

    def score_all(self):
        scorer = Scorer(self.database, self.storage, lease=timedelta(seconds=40))
        with self.database.read() as session:
            waiting = jobs.waiting(session, older_than=timedelta(), limit=1000, now=db.now(session))
        for job_id in waiting:
            assert scorer.run(job_id)


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Iterator[Elsewhere]:
    folder = tmp_path / "elsewhere"
    url = f"sqlite:///{folder / 'fairboard.db'}"
    if database.engine.dialect.name == "postgresql":
        url = request.getfixturevalue("empty_postgresql_url")
    settings = Settings(data_dir=folder, database_url=SecretStr(url), secret_key=SecretStr("not so secret"))
    other = Database(settings.database(), pool_size=4)
    yield Elsewhere(settings, other, open_storage(settings.storage()))
    other.dispose()


@pytest.fixture
def back_up(service, tmp_path: Path) -> Callable[..., Path]:
    """A function that backs up `service` to a new folder."""

    def make(name: str = "backup") -> Path:
        folder = tmp_path / name
        make_backup(service, folder)
        return folder

    return make


def make_backup(service, folder: Path | str, settings: Settings | None = None, **options) -> Made:
    settings = settings or service.settings
    store = backup_store.open_store(str(folder))
    return backups.make(settings, service.database, service.storage, store, **options)


@pytest.mark.both_databases
def test_restored_installation_has_every_row_and_blob_and_continues(
    service, back_up: Callable[..., Path], elsewhere: Elsewhere
):
    competition = service.competition()
    service.score(service.submit(competition), service.submit(competition, user="bob", seed=2))
    before = _rows(service.database)
    restored = elsewhere.restore(back_up())
    assert (restored.held_mails, restored.has_secret_key) == (0, True)
    after = _rows(elsewhere.database)
    assert after == before
    assert {blob.sha256 for blob in elsewhere.storage.blobs()} == {
        blob.sha256 for blob in service.storage.blobs()
    }
    service.database, service.storage = elsewhere.database, elsewhere.storage
    accepted = service.submit(competition, seed=3)
    service.score(accepted)
    assert service.submission(accepted).status is SubmissionStatus.SCORED
    with pytest.raises(DBAPIError), elsewhere.database.write() as session:
        session.execute(text("UPDATE audit_entry SET reason = 'none'"))


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("store", ["folder", pytest.param("bucket", marks=pytest.mark.long)])
def test_backup_of_either_database_is_restored_into_the_other(
    service, request: pytest.FixtureRequest, tmp_path: Path, store: str
):
    target = str(tmp_path / "backup") if store == "folder" else request.getfixturevalue("bucket_url")
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
            created_by=None,
            now=service.now,
        )
    installations = [service]
    for number, url in enumerate((request.getfixturevalue("empty_postgresql_url"), None)):
        last = installations[-1]
        made = make_backup(last, target)
        backup = backups.open_backup(target, name=made.record.name)
        folder = tmp_path / f"elsewhere {number}"
        settings = Settings(data_dir=folder, database_url=url and SecretStr(url), secret_key=SecretStr("s"))
        found = Elsewhere(settings, Database(settings.database()), open_storage(settings.storage()))
        backups.restore(settings, found.database, found.storage, backup)
        assert backups.verify(backup) == []
        installations.append(found)
    first, last = (
        backups.open_backup(target, name=make_backup(each, target).record.name)
        for each in (service, installations[-1])
    )
    digests = [
        {name: (copy.row_count, copy.digest) for name, copy in each.contents.tables.items()}
        for each in (first, last)
    ]
    assert digests[0] == digests[1]
    assert first.contents.blobs == last.contents.blobs
    assert _rows(installations[-1].database) == _rows(service.database)
    for each in installations[1:]:
        each.database.dispose()


def test_restored_installation_does_not_wait_for_workers_of_the_lost_one(
    service, back_up: Callable[..., Path], elsewhere: Elsewhere
):
    competition = service.competition()
    (scoring_id,) = service.submit(competition).job_ids
    lease = timedelta(days=1)
    with service.database.write() as session:
        check_id = organizer_jobs.add(
            session,
            competition=competition,
            kind=OrganizerJobKind.CHECK,
            parameters={},
            created_by=None,
            now=service.now,
        ).id
        assert jobs.claim(session, job_id=scoring_id, lease=lease, now=service.now)
        assert organizer_jobs.claim(session, job_id=check_id, lease=lease, now=service.now)
    elsewhere.restore(back_up())
    with elsewhere.database.write() as session:
        for claim, job_id in ((jobs.claim, scoring_id), (organizer_jobs.claim, check_id)):
            claimed = claim(session, job_id=job_id, lease=lease, now=service.now)
            assert claimed is not None and claimed.attempt == 1


def test_restored_installation_sends_no_email_twice(
    service, back_up: Callable[..., Path], elsewhere: Elsewhere
):
    competition = service.competition()
    _verify(service, service.user("ada"))
    with service.database.write() as session:
        outbox.write(session, to_address="ada@example.org", subject="Waits", body="…", now=db.now(session))
    pending = service.submit(competition)
    folder = back_up()
    # After the backup, the first installation sends the e-mail about this score.
    service.score(pending)
    assert len(_outbox(service)) == 2
    restored = elsewhere.restore(folder)
    elsewhere.score_all()
    assert restored.held_mails == 1
    assert _outbox(elsewhere) == []
    service.database, service.storage = elsewhere.database, elsewhere.storage
    service.score(service.submit(competition, seed=9))
    (told,) = _outbox(elsewhere)  # New events still cause e-mails.
    assert told.subject.endswith("scored")


def test_backup_contains_no_secrets_and_lists_the_required_ones(
    service, tmp_path: Path, elsewhere: Elsewhere
):
    service.competition()
    settings = service.settings.model_copy(
        update={
            "secret_key": SecretStr("the-secret-key-itself"),
            "smtp_password": SecretStr("the-smtp-password"),
            "contact": "Ada <ada@example.org>",
        }
    )
    folder = tmp_path / "backup"
    made = make_backup(service, folder, settings)
    assert folder.stat().st_mode & 0o077 == 0
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            content += gzip.decompress(content) if content[:2] == b"\x1f\x8b" else b""
            assert b"the-secret" not in content and b"the-smtp" not in content
    assert "FAIRBOARD_SECRET_KEY" in made.secrets[0]
    assert any("FAIRBOARD_SMTP_PASSWORD" in sentence for sentence in made.secrets)
    (backup,) = [backups.open_backup(str(folder))]
    assert "FAIRBOARD_CONTACT=Ada <ada@example.org>" in backup.contents.settings
    assert not elsewhere.restore(folder).has_secret_key


def test_blob_missing_or_damaged_before_the_backup_is_named(service, tmp_path: Path):
    competition = service.competition()
    gone, damaged = (service.submit(competition, seed=seed).submission.sha256 for seed in (1, 2))
    service.storage.delete(gone)
    next((service.settings.data_dir / "blobs").rglob(damaged)).write_bytes(b"other")
    made = make_backup(service, tmp_path / "backup")
    assert set(made.unusable) == {gone, damaged}


def test_incomplete_or_changed_backup_is_not_restored(
    service, back_up: Callable[..., Path], elsewhere: Elsewhere, tmp_path: Path
):
    sha256 = service.submit(service.competition()).submission.sha256
    with pytest.raises(NotABackup, match="contains no complete backup"):
        elsewhere.restore(tmp_path)
    folder = back_up("a")
    next((folder / "objects").rglob(sha256)).write_bytes(b"other")
    with pytest.raises(NotABackup, match=sha256):
        elsewhere.restore(folder)
    next((folder / "objects").rglob(sha256)).unlink()
    with pytest.raises(NotABackup, match=f"the object objects/../{sha256} is missing"):
        elsewhere.restore(folder)
    folder = back_up("b")
    backup = backups.open_backup(str(folder))
    part = folder / backup.contents.tables["submission"].parts[0]
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    with pytest.raises(NotABackup, match=r"the object objects/../\w+ has changed"):
        elsewhere.restore(folder)
    assert database_copies.is_empty(elsewhere.database)
    elsewhere.restore(back_up("c"))  # An attempt that failed leaves the installation usable.


def test_restored_installation_lists_the_backup_from_which_it_was_restored(
    service, elsewhere: Elsewhere, tmp_path: Path
):
    service.competition()
    folder = tmp_path / "backups"
    service.settings.data_dir.mkdir(exist_ok=True)
    for _ in range(2):
        made = backups.run(service.settings, service.database, service.storage, target=str(folder))
    elsewhere.restore(folder)
    settings = elsewhere.settings.model_copy(update={"backup_target": str(folder)})
    with elsewhere.database.read() as session:
        newest = session.scalars(select(BackupRun).order_by(BackupRun.id.desc())).first()
        assert newest is not None
        assert (newest.name, newest.ended_at) == (made.record.name, made.record.made_at)
        assert backup_runs.last_success_at(session) == newest.started_at
        (finding,) = doctor_checks.of_backups(settings, session)
        assert finding.level == "ok"


@pytest.mark.both_databases
def test_restore_requires_an_empty_installation(service, back_up: Callable[..., Path], elsewhere: Elsewhere):
    service.competition()
    folder = back_up()
    with refused("cannot_restore", match="not empty"):
        Elsewhere(service.settings, service.database, service.storage).restore(folder)
    elsewhere.restore(folder)
    with refused("cannot_restore", match="not empty"):
        elsewhere.restore(folder)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_backup_of_another_version_is_rejected(service, back_up: Callable[..., Path], elsewhere: Elsewhere):
    service.competition()
    folder = back_up()
    (path,) = (folder / "backups").iterdir()
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"format": 3}))
    with pytest.raises(NotABackup, match="damaged or was created by a newer version"):
        elsewhere.restore(folder)
    path.write_text(json.dumps(record))
    backup = backups.open_backup(str(folder))
    backup.contents.revision = "0053"
    with pytest.raises(schema.UnknownTables):
        backups.restore(elsewhere.settings, elsewhere.database, elsewhere.storage, backup)


def test_backup_without_enough_space_is_not_started(service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: 1000)
    with pytest.raises(CannotBackUp, match="folder on a larger disk") as refused:
        make_backup(service, tmp_path / "backup")
    assert "migrate" not in str(refused.value)
    assert not (tmp_path / "backup").exists()


def test_upgrade_without_enough_space_changes_nothing_and_names_the_option(
    service, next_migration: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("grader.storage.disk.free_bytes", lambda folder: 1000)
    with pytest.raises(CannotBackUp, match=r"No table was changed.*`fairboard migrate --without-backup`"):
        backups.migrate(service.settings, service.database, say=print)
    assert schema.current(service.database) != next_migration
    assert not (service.settings.data_dir / "backups").exists()


def test_progress_of_a_backup_ends_with_the_number_of_blobs(service, tmp_path: Path):
    competition = service.competition()
    service.score(service.submit(competition))
    with service.database.write() as session:
        organizer_jobs.add(
            session,
            competition=competition,
            kind=OrganizerJobKind.CHECK,
            parameters={"file": "0" * 64},  # The blob of this optional reference does not exist.
            created_by=None,
            now=service.now,
        )
    told: list[tuple[int, int]] = []

    def tell(done: int, total: int):
        told.append((done, total))

    made = make_backup(service, tmp_path / "backup", tell=tell)
    assert made.unusable == []
    assert told[0][0] == 0  # The first name has no blob.
    assert told[-1] == (made.record.blob_count, made.record.blob_count)


def _rows(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    found = MetaData()
    with database.engine.connect() as connection:
        found.reflect(connection)
        return {
            name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for name, table in found.tables.items()
        }


def _verify(service, user: User):
    with service.database.write() as session:
        stored = session.get_one(User, user.id)
        stored.email = stored.email_key = f"{user.name}@example.org"
        stored.email_verified_at = service.now


def _outbox(installation) -> list[Mail]:
    """Return the e-mails that the mailer would send now."""
    with installation.database.read() as session:
        now = db.now(session)
        assert session.scalar(select(func.count()).select_from(AuditEntry))
        return list(session.scalars(outbox._waiting(now)))
