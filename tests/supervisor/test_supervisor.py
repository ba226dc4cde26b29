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
    """The time that a child's starts are planned by."""

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
    """Start a child once more than there are lives, kill it after each, and return what lies between starts.

    The clock is set to the moment before a planned start, where nothing may start, and then to that moment.
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


def test_what_fails_to_start_is_started_again_at_once_and_then_ever_more_rarely(clock):
    assert distances_of_starts(clock, [0] * 10) == [0, 0.5, 1, 2, 4, 8, 16, 30, 30, 30]


def test_what_had_run_for_a_while_is_started_again_at_once_however_often_it_is_killed(clock):
    assert distances_of_starts(clock, [SETTLED_AFTER_SECONDS] * 10) == [SETTLED_AFTER_SECONDS] * 10


def test_the_time_that_a_process_lived_counts_for_the_pause_before_its_next_start(clock):
    assert distances_of_starts(clock, [3] * 6) == [3, 3, 3, 3, 4, 8]


def test_a_long_life_makes_good_for_failed_starts(clock):
    assert distances_of_starts(clock, [0, 0, 0, 0, SETTLED_AFTER_SECONDS, 0]) == [
        *(0, 0.5, 1, 2),
        SETTLED_AFTER_SECONDS,
        0,
    ]


def test_stopping_a_child_ends_what_it_had_started(tmp_path):
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


def test_a_child_that_ignores_the_request_to_stop_is_killed_after_its_grace(tmp_path):
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


def test_the_supervisor_runs_its_programs_and_stops_them_when_a_signal_asks():
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


def test_a_program_that_cannot_be_started_is_tried_again():
    child = Child(Program("missing", ("/no/such/program",)))

    assert not child.tend()
    assert child.pid is None
    child.stop()


def test_a_signal_that_was_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Supervisor().stopping_on_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
