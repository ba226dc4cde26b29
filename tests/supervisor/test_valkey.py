import os
import subprocess
import tempfile

import pytest

from grader.cli import maintenance
from grader.settings import Settings
from grader.supervisor import lock, valkey
from tests.fixtures.patience import eventually


def test_socket_in_a_runtime_directory_is_found_from_elsewhere(
    valkey_server, tmp_path, monkeypatch, short_folder
):
    """systemd's PrivateTmp hides the service's temporary folder from the doctor."""
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(short_folder))
    with (
        valkey.private_socket(tmp_path) as socket,
        subprocess.Popen(valkey.program(valkey_server, data_dir=tmp_path, socket=socket).command) as process,
        lock.hold(tmp_path),
    ):
        assert socket.is_relative_to(short_folder)
        eventually(socket.exists)
        monkeypatch.delenv("RUNTIME_DIRECTORY")
        monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
        _, finding = maintenance._of_service(Settings(data_dir=tmp_path))
        process.kill()
    assert finding.message == "The broker responds."
    assert not socket.parent.exists()


def test_socket_path_is_private_and_short_even_in_a_long_temporary_folder(tmp_path, monkeypatch):
    long_folder = tmp_path / ("x" * 100)
    long_folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long_folder))
    with valkey.private_socket(tmp_path) as path:
        assert len(os.fsencode(path)) <= 100
        assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("status", "is_used"), [(0, True), (127, False)])
def test_usable_server_on_path_is_used_without_a_wheel(tmp_path, monkeypatch, status, is_used):
    fake = tmp_path / "valkey-server"
    fake.write_text(f"#!/bin/sh\nexit {status}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(valkey, "find_spec", lambda name: None)

    assert valkey.find_server() == (fake if is_used else None)
