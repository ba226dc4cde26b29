import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from grader.demo.service import CommandFailed, DemoInstallation, ServiceFailed, serving
from tests.fixtures.patience import HANG_SECONDS


def test_address_in_use_is_rejected(tmp_path):
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        answering = threading.Thread(target=other.handle_request)
        answering.start()
        installation = DemoInstallation("127.0.0.1", other.server_port, {})
        with pytest.raises(ServiceFailed, match="already running"), serving(installation, tmp_path / "log"):
            pass
        answering.join()
    assert not (tmp_path / "log").exists()


def test_failed_start_shows_the_services_log(tmp_path):
    file = tmp_path / "file"
    file.touch()
    environment = {"FAIRBOARD_DATA_DIR": str(file), "FAIRBOARD_PORT": "1"}
    installation = DemoInstallation("127.0.0.1", 1, environment)
    with pytest.raises(ServiceFailed, match=str(file)), serving(installation, tmp_path / "log"):
        pass


def test_failed_command_shows_its_error():
    with pytest.raises(CommandFailed, match="No such command 'dance'"):
        DemoInstallation("127.0.0.1", 1, {}).command("dance")


def guard(pid: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "grader.demo.guardian", str(pid)], stdin=subprocess.PIPE)


def test_guarded_process_ends_when_the_pipe_closes():
    sleeper = subprocess.Popen(["sleep", "9999"])
    guardian = guard(sleeper.pid)
    assert sleeper.poll() is None
    guardian.communicate()
    assert sleeper.wait(HANG_SECONDS) == -15


def test_guardian_of_an_ended_process_ends_silently():
    sleeper = subprocess.Popen(["sleep", "9999"])
    guardian = guard(sleeper.pid)
    sleeper.kill()
    sleeper.wait()
    guardian.communicate()
    assert guardian.returncode == 0
