"""Scenario F25: recovery from a backup taken under load after all other data is lost."""

import itertools
import threading

import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader import db
from grader.db import Database
from grader.maintenance import backups
from grader.models import Submission
from grader.services.site import outbox
from grader.storage.stores import open_storage
from tests.fixtures.patience import HANG_SECONDS

PEOPLE = ("ada", "bob")


@pytest.fixture
def settings(make_settings, post):
    """Settings with which a sweeper claims free jobs immediately and sends e-mail."""
    smtp = post.settings | {"smtp_password": SecretStr(post.settings["smtp_password"])}
    return make_settings(sweep_after_seconds=0, **smtp)


@pytest.fixture
def restored_settings(request, settings, tmp_path):
    """The same settings for an empty installation."""
    folder = tmp_path / "restored"
    url = f"sqlite:///{folder / 'fairboard.db'}"
    if settings.database().startswith("postgresql"):
        url = request.getfixturevalue("empty_postgresql_url")
    return settings.model_copy(update={"data_dir": folder, "database_url": SecretStr(url)})


class Load:
    """Clients that upload files continuously, and the files for which they received a confirmation."""

    def __init__(self, service):
        self.acknowledged: dict[int, str] = {}
        self._service, self._competition = service, service.competition()
        self._stop = threading.Event()
        service.verify_addresses(*PEOPLE)
        self._clients = [
            threading.Thread(target=self._send, args=(name, place)) for place, name in enumerate(PEOPLE)
        ]
        for client in self._clients:
            client.start()

    def end(self):
        self._stop.set()
        for client in self._clients:
            client.join()

    def _send(self, name, first):
        for seed in itertools.count(first, 10):
            if self._stop.wait(0.1):
                return
            submission = self._service.submit(self._competition, user=name, seed=seed).submission
            self.acknowledged[submission.id] = submission.sha256


@pytest.fixture
def load(service):
    """Clients that upload during the test."""
    load = Load(service)
    yield load
    load.end()


@pytest.mark.parametrize(
    "database_url", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)
def test_backup_restores_everything_and_sends_no_email_twice(
    service, load, restored_settings, processes, post, eventually, check_invariants, tmp_path
):
    first = processes.sweeper(service.settings)
    eventually(lambda: len(post.received) >= 3)
    known = dict(load.acknowledged)
    backups.run(service.settings, service.database, service.storage, target=str(tmp_path / "backup"))
    later, told = len(load.acknowledged), len(post.received)
    eventually(lambda: len(load.acknowledged) > later and len(post.received) > told)
    load.end()
    # The machine is lost, including files and e-mails created after the backup. These e-mails were already
    # sent.
    processes.kill(first)

    database, storage = Database(restored_settings.database()), open_storage(restored_settings.storage())
    backup = backups.open_backup(str(tmp_path / "backup"))
    backups.restore(database, storage, backup)
    with database.read() as session:
        found = {row.id: row.sha256 for row in session.scalars(select(Submission))}
    assert known.items() <= found.items()
    heartbeat = tmp_path / "heartbeat"
    arguments = "-m", "grader.cli", "sweeper", "--heartbeat", str(heartbeat)
    second = processes.python(restored_settings, *arguments)
    # If no work remains, only the heartbeat shows that the sweeper is ready to handle SIGTERM.
    eventually(heartbeat.exists)
    eventually(lambda: _all_scored(database))
    eventually(lambda: _nothing_waits(database))
    second.terminate()
    assert second.wait(HANG_SECONDS) == 0
    check_invariants(database, storage, acknowledged=found)
    sent = [(to[0], each["Subject"]) for each, to in zip(post.received, post.recipients, strict=True)]
    assert len(sent) == len(set(sent))
    database.dispose()


def _all_scored(database):
    with database.read() as session:
        return all(row.finished_at for row in session.scalars(select(Submission)))


def _nothing_waits(database):
    with database.read() as session:
        return not session.scalar(select(outbox.are_waiting(db.now(session))))
