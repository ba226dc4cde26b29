import signal
import sys
from types import SimpleNamespace

import psutil
import pytest

from grader.supervisor.supervisor import PAUSE_SECONDS, SETTLED_AFTER_SECONDS, Program, Supervisor
from tests.fixtures.patience import eventually


def python(code, **options):
    return Program("test program", (sys.executable, "-c", code), **options)


@pytest.mark.parametrize(("life", "pause"), [(0, PAUSE_SECONDS), (SETTLED_AFTER_SECONDS, 0)])
def test_failing_program_is_restarted_after_a_pause_and_a_long_running_one_at_once(life, pause, monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr("grader.supervisor.supervisor.time", SimpleNamespace(monotonic=lambda: clock.now))
    program = python("import time; time.sleep(9999)")
    assert program.tend()
    program.process.kill()
    eventually(lambda: program.process.poll() is not None)
    clock.now += life
    assert program.tend() is (pause == 0)
    clock.now += pause
    program.tend()
    assert program.process is not None
    program.stop()


def test_stopping_a_child_ends_its_descendants(tmp_path):
    pid_file = tmp_path / "pid"
    child = python(
        "import pathlib, subprocess, sys, time\n"
        "grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(9999)'])\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(grandchild.pid))\n"
        "time.sleep(9999)"
    )
    child.tend()
    eventually(lambda: pid_file.exists() and pid_file.read_text())
    grandchild = psutil.Process(int(pid_file.read_text()))

    child.stop()

    eventually(lambda: not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE)


def test_child_that_ignores_the_stop_request_is_killed_after_its_grace_period(tmp_path):
    ready = tmp_path / "ready"
    child = python(
        "import pathlib, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(9999)",
        grace_seconds=0.2,
    )
    child.tend()
    eventually(ready.exists)
    pid = child.process.pid

    child.stop()

    assert child.process is None
    assert not psutil.pid_exists(pid)


def test_supervisor_runs_its_programs_until_a_signal_and_stops_them():
    supervisor = Supervisor()
    with supervisor.stopping_on_signals():
        supervisor.add(sleeper := python("import time; time.sleep(9999)"))
        pid = sleeper.process.pid
        supervisor.add(
            python("import os, time, signal; time.sleep(0.3); os.kill(os.getppid(), signal.SIGTERM)")
        )
        supervisor.run()

    assert sleeper.process is None
    assert not psutil.pid_exists(pid)


def test_program_that_cannot_be_started_is_retried():
    child = Program("missing", ("/no/such/program",))

    assert not child.tend()
    assert child.process is None
    child.stop()


def test_ignored_signal_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Supervisor().stopping_on_signals():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
