import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from grader.demo.service import CommandFailed, Installation, ServiceFailed, serving


def test_an_address_that_somebody_else_serves_is_refused(tmp_path):
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        answering = threading.Thread(target=other.handle_request)
        answering.start()
        installation = Installation("127.0.0.1", other.server_port, {})
        with (
            pytest.raises(ServiceFailed, match="answers at"),
            serving(installation, tmp_path / "log"),
        ):
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
