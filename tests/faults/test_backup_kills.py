"""kill -9 of a backup at each step: the last backup stays usable, and the next run cleans up."""

import subprocess

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader import db
from grader.db import Database
from grader.maintenance import backups, database_copies, schema
from grader.maintenance.backup_store import Store
from grader.models import Mail
from grader.services.site import outbox
from grader.storage.stores import open_storage

RUN = (
    "from grader.settings import load; from grader.db import Database\n"
    "from grader.maintenance import backups; from grader.storage.stores import open_storage\n"
    "settings = load(); database = Database(settings.database())\n"
    "backups.run(settings, database, open_storage(settings.storage()), target=settings.backup_target)"
)
POINTS = (
    "backup.after_begin",
    "backup.after_tables",
    "blob.before_rename",
    "blob.before_rename:4",
    "backup.after_object",
    "backup.after_object:2",
    "backup.before_record",
    "backup.after_record",
    "prune.after_record",
    "prune.after_object",
    "prune.after_object:2",
)
IN_THE_SHORT_RUN = ("blob.before_rename:4", "backup.after_record", "prune.after_object")
LONG = pytest.mark.long


@pytest.fixture
def settings(make_settings, tmp_path):
    """Settings of a target in which only the last backup is kept."""
    return make_settings(
        backup_target=str(tmp_path / "backups"),
        backup_keep_days=1e-9,
    )


def usable(settings):
    """Verify all backups, and return their names."""
    records, problems = Store(settings.backup_target).records()
    assert problems == []
    for record in records:
        backup = backups.open_backup(settings.backup_target, name=record.name)
        assert backups.verify(backup) == []
    return [record.name for record in records]


@pytest.mark.parametrize("database_url", ["sqlite", pytest.param("postgresql", marks=LONG)], indirect=True)
@pytest.mark.parametrize(
    "point", [point if point in IN_THE_SHORT_RUN else pytest.param(point, marks=LONG) for point in POINTS]
)
def test_backup_killed_at_any_step_leaves_a_usable_one_and_the_next_run_cleans_up(
    service, settings, processes, point
):
    competition = service.competition()
    service.submit(competition, seed=1)
    storage = open_storage(settings.storage())
    first = backups.run(settings, service.database, storage, target=settings.backup_target)
    service.submit(competition, seed=2)
    processes.crash(settings, "-c", RUN, at=point)
    names = usable(settings)
    assert names and (first.record.name in names or point.startswith("prune"))

    last = backups.run(settings, service.database, storage, target=settings.backup_target)
    assert usable(settings) == [last.record.name]
    assert Store(settings.backup_target).sizes() == last.record.objects


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("restored_to", ["sqlite", "postgresql"])
@pytest.mark.long
def test_killed_restore_leaves_the_installation_empty_and_can_be_repeated(
    service, settings, processes, tmp_path, request, restored_to
):
    service.submit(service.competition())
    with service.database.write() as session:
        outbox.write(session, to_address="ada@example.org", subject="Waits", body="…", now=db.now(session))
    backups.run(settings, service.database, service.storage, target=settings.backup_target)
    folder = tmp_path / "elsewhere"
    url = f"sqlite:///{folder / 'fairboard.db'}"
    if restored_to == "postgresql":
        url = request.getfixturevalue("empty_postgresql_url")
    other = settings.model_copy(update={"data_dir": folder, "database_url": SecretStr(url)})
    command = "-m", "grader.cli", "restore"
    processes.crash(other, *command, at="restore.before_commit")
    database = Database(url)
    assert database_copies.is_empty(database)
    assert not schema.is_usable(database)
    for refused in (("serve", "--port", "0"), ("user", "create", "eve"), ("migrate",), ("sweeper",)):
        with processes.python(other, "-m", "grader.cli", *refused, stderr=subprocess.PIPE) as process:
            assert b"The restore into this database was not completed." in process.communicate()[1]
        assert process.returncode == 1
    assert processes.python(other, *command).wait() == 0
    with database.read() as session:
        assert set(session.scalars(select(Mail.error))) == {backups.WHY_NOT_SENT}
    database.dispose()
