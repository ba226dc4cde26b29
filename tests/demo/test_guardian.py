import subprocess
import sys

from tests.fixtures.patience import HANG_SECONDS


def guard(pid: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "grader.demo.guardian", str(pid)], stdin=subprocess.PIPE)


def test_the_guarded_process_ends_when_the_pipe_does():
    sleeper = subprocess.Popen(["sleep", "9999"])
    guardian = guard(sleeper.pid)
    assert sleeper.poll() is None
    guardian.communicate()
    assert sleeper.wait(HANG_SECONDS) == -15


def test_the_guardian_of_a_process_that_has_ended_ends_quietly():
    sleeper = subprocess.Popen(["sleep", "9999"])
    guardian = guard(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    guardian.communicate()
    assert guardian.returncode == 0
