"""The sweeper's heartbeat; what it scores is tried with real processes in tests/faults."""

import errno
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from grader.db import Database
from grader.models import SubmissionStatus
from grader.settings import Settings
from grader.worker.sweeper import Sweeper


def sweep_for_a_moment(settings: Settings, database: Database, heartbeat: Path, *, until: float) -> None:
    stop = threading.Event()
    lane = threading.Thread(target=Sweeper(settings, database, heartbeat=heartbeat).run, args=(stop,))
    lane.start()
    deadline = time.monotonic() + until
    while not heartbeat.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    stop.set()
    lane.join()


def test_the_heartbeat_is_touched_when_the_database_answers(service: Any, tmp_path: Path) -> None:
    heartbeat = tmp_path / "alive"
    sweep_for_a_moment(service.settings, service.database, heartbeat, until=30)
    assert heartbeat.exists()


def test_a_database_that_does_not_answer_leaves_the_heartbeat_alone(service: Any, tmp_path: Path) -> None:
    heartbeat = tmp_path / "alive"
    empty = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    sweep_for_a_moment(service.settings, empty, heartbeat, until=1)
    empty.dispose()
    assert not heartbeat.exists()


def test_a_lane_that_breaks_goes_on(service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted = service.submit(service.competition())
    tries, start = [0], subprocess.Popen

    def rarely(*what: Any, **options: Any) -> Any:
        tries[0] += 1
        if tries[0] < 4:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        return start(*what, **options)

    monkeypatch.setattr("grader.worker.child.subprocess.Popen", rarely)
    settings = service.settings.model_copy(update={"sweep_interval_seconds": 0.1})
    heartbeat, stop = tmp_path / "later" / "alive", threading.Event()
    sweeper = Sweeper(settings, service.database, heartbeat=heartbeat)
    lane = threading.Thread(target=sweeper.run, args=(stop,))
    lane.start()
    time.sleep(0.5)
    heartbeat.parent.mkdir()
    deadline = time.monotonic() + 60
    while service.submission(accepted).status is not SubmissionStatus.SCORED and time.monotonic() < deadline:
        time.sleep(0.05)
    stop.set()
    lane.join()
    assert heartbeat.exists()
    assert service.submission(accepted).status is SubmissionStatus.SCORED
