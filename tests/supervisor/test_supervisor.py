import os
import signal
import sys

import psutil
import pytest

from grader.supervisor.supervisor import SETTLED_AFTER_SECONDS, Child, Program, Supervisor
from tests.fixtures.patience import eventually


def python(code, **options):
    return Program("test program", (sys.executable, "-c", code), **options)


class Clock:
    """The clock by which a child's starts are scheduled."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("grader.supervisor.supervisor.time", clock)
    return clock


def distances_of_starts(clock, lives):
    """Start a child, kill it after each lifetime, and return the intervals between its starts.

    The clock advances in small steps until the next start.
    """
    child = Child(python("import time; time.sleep(9999)"))
    assert child.tend()
    distances = []
    for life in lives:
        started = clock.now
        clock.now += life
        os.kill(child.pid, signal.SIGKILL)
        eventually(lambda: child.has_ended)
        while not child.tend():
            clock.now += 0.25
            assert clock.now < started + 3600
        distances.append(clock.now - started)
    child.stop()
    return distances


def test_failing_program_is_restarted_at_once_and_then_with_growing_pauses(clock):
    assert distances_of_starts(clock, [0] * 10) == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_long_running_program_is_always_restarted_at_once(clock):
    assert distances_of_starts(clock, [SETTLED_AFTER_SECONDS] * 10) == [SETTLED_AFTER_SECONDS] * 10


def test_lifetime_of_a_process_counts_towards_the_pause(clock):
    assert distances_of_starts(clock, [3] * 6) == [3, 3, 3, 3, 4, 8]


def test_long_life_resets_the_pause_after_failed_starts(clock):
    assert distances_of_starts(clock, [0, 0, 0, 0, SETTLED_AFTER_SECONDS, 0]) == [
        *(0, 0.5, 1, 2),
        SETTLED_AFTER_SECONDS,
        0,
    ]


def test_stopping_a_child_ends_its_descendants(tmp_path):
    pid_file = tmp_path / "pid"
    child = Child(
        python(
            "import pathlib, subprocess, sys, time\n"
            "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(9999)'])\n"
            f"pathlib.Path({str(pid_file)!r}).write_text(str(grandchild.pid))\n"
            "time.sleep(9999)"
        )
    )
    child.tend()
    eventually(lambda: pid_file.exists() and pid_file.read_text())
    grandchild = psutil.Process(int(pid_file.read_text()))

    child.stop()

    eventually(lambda: not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE)


def test_child_that_ignores_the_stop_request_is_killed_after_its_grace_period(tmp_path):
    ready = tmp_path / "ready"
    child = Child(
        python(
            "import pathlib, signal, time\n"
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            f"pathlib.Path({str(ready)!r}).touch()\n"
            "time.sleep(9999)",
            grace_seconds=0.2,
        )
    )
    child.tend()
    eventually(ready.exists)
    pid = child.pid

    child.stop()

    assert child.pid is None
    assert not psutil.pid_exists(pid)


def test_supervisor_runs_its_programs_until_a_signal_and_stops_them():
    supervisor = Supervisor()
    with supervisor.stopping_on_signals():
        sleeper = supervisor.add(python("import time; time.sleep(9999)"))
        pid = sleeper.pid
        supervisor.add(
            python("import os, time, signal; time.sleep(0.3); os.kill(os.getppid(), signal.SIGTERM)")
        )
        supervisor.run()

    assert sleeper.pid is None
    assert not psutil.pid_exists(pid)


def test_program_that_cannot_be_started_is_retried():
    child = Child(Program("missing", ("/no/such/program",)))

    assert not child.tend()
    assert child.pid is None
    child.stop()


def test_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Supervisor().stopping_on_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
