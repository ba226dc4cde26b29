import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from grader.demo.service import CommandFailed, Installation, ServiceFailed, serving
from tests.fixtures.patience import HANG_SECONDS


def test_an_address_that_somebody_else_serves_is_refused(tmp_path):
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        answering = threading.Thread(target=other.handle_request)
        answering.start()
        installation = Installation("127.0.0.1", other.server_port, {})
        with pytest.raises(ServiceFailed, match="answers at"), serving(installation, tmp_path / "log"):
            pass
        answering.join()
    assert not (tmp_path / "log").exists()


def test_a_service_that_cannot_start_is_answered_with_its_log(tmp_path):
    file = tmp_path / "file"
    file.touch()
    environment = {"FAIRBOARD_DATA_DIR": str(file), "FAIRBOARD_PORT": "1"}
    installation = Installation("127.0.0.1", 1, environment)
    with pytest.raises(ServiceFailed, match=str(file)), serving(installation, tmp_path / "log"):
        pass


def test_a_command_that_fails_says_why():
    with pytest.raises(CommandFailed, match="No such command 'dance'"):
        Installation("127.0.0.1", 1, {}).command("dance")


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
