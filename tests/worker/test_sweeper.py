"""The sweeper's heartbeat; what it scores is tried with real processes in tests/faults."""

import errno
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from grader.db import Database
from grader.models import SubmissionStatus
from grader.settings import Settings
from grader.worker.sweeper import Sweeper
from tests.fixtures.patience import eventually


def sweep(settings: Settings, database: Database, heartbeat: Path, *, until: Callable[[], bool]) -> None:
    stop = threading.Event()
    lane = threading.Thread(target=Sweeper(settings, database, heartbeat=heartbeat).run, args=(stop,))
    lane.start()
    try:
        eventually(until, "what is waited for")
    finally:
        stop.set()
        lane.join()


def test_the_heartbeat_is_touched_when_the_database_answers(service: Any, tmp_path: Path) -> None:
    heartbeat = tmp_path / "alive"
    sweep(service.settings, service.database, heartbeat, until=heartbeat.exists)
    assert heartbeat.exists()


def test_a_database_that_does_not_answer_leaves_the_heartbeat_alone(
    service: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    heartbeat = tmp_path / "alive"
    empty = Database(f"sqlite:///{tmp_path / 'empty.db'}")
    sweep(service.settings, empty, heartbeat, until=lambda: "lane sweep" in caplog.text)
    empty.dispose()
    assert not heartbeat.exists()


def test_a_lane_that_breaks_goes_on(
    service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
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
    eventually(lambda: "lane sweep" in caplog.text, "the break of a lane without its heartbeat")
    heartbeat.parent.mkdir()
    eventually(lambda: service.submission(accepted).status is SubmissionStatus.SCORED, "the score")
    eventually(heartbeat.exists, "a heartbeat")
    stop.set()
    lane.join()
