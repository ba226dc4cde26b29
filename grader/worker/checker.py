"""Checking files before they are submitted: one bounded child for each web process."""

import json
import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from grader.settings import Settings

WAIT_SECONDS = 3.0
TIME_LIMIT_SECONDS = 10
START_SECONDS = 20
MAX_QUEUED = 1
CHUNK_BYTES = 1 << 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the file reader answered: `problems` and `notes` as JSON-ready data."""

    problems: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class Checker:
    """Checks one file at a time in a child with limits of time and memory, started with the first file.

    One more may wait, and only a moment: whoever finds the queue full, waits too long or has a file that ends
    the child gets None, and its file is checked by the worker that scores it.
    """

    def __init__(self, settings: Settings, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._memory_mb = settings.scoring_memory_mb
        self._wait_seconds = wait_seconds
        self._start_afresh()

    def check(
        self, upload: IO[bytes], *, row_ids_sha256: str, open_row_ids: Callable[[], BinaryIO]
    ) -> Checked | None:
        """Return everything that is wrong with a file and worth a remark; None if it was not checked."""
        if self._pid != os.getpid():
            self._start_afresh()
        if not self._places.acquire(blocking=False):
            return None
        try:
            if not self._turn.acquire(timeout=self._wait_seconds):
                return None
            try:
                return self._ask(upload, row_ids_sha256, open_row_ids)
            finally:
                self._turn.release()
        finally:
            self._places.release()

    def close(self) -> None:
        """End the child."""
        if self._process is not None and self._socket is not None:
            self._process.kill()
            self._process.wait()
            self._socket.close()
        self._process = self._socket = self._row_ids_sha256 = None

    def _start_afresh(self) -> None:
        self._pid = os.getpid()
        self._places = threading.BoundedSemaphore(1 + MAX_QUEUED)
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._row_ids_sha256: str | None = None

    def _ask(
        self, upload: IO[bytes], row_ids_sha256: str, open_row_ids: Callable[[], BinaryIO]
    ) -> Checked | None:
        try:
            child = self._running()
            with ExitStack() as files:
                sent = [_with_descriptor(upload, files)]
                if self._row_ids_sha256 != row_ids_sha256:
                    sent.append(_with_descriptor(files.enter_context(open_row_ids()), files))
                    self._row_ids_sha256 = row_ids_sha256
                socket.send_fds(child, [b"?"], [file.fileno() for file in sent])
                answer = _read_line(child)
        except OSError:
            self.close()
            logger.warning("The process that checks files has died of one, or took too long.")
            return None
        found = json.loads(answer)
        return Checked(found["problems"], found["notes"]) if found else None

    def _running(self) -> socket.socket:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._socket is None:
            ours, theirs = socket.socketpair()
            ours.settimeout(START_SECONDS + TIME_LIMIT_SECONDS)
            limits = (str(theirs.fileno()), str(TIME_LIMIT_SECONDS), str(self._memory_mb))
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", "grader.worker.checking_child", *limits],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    env=_without_secrets(),
                )
            self._socket = ours
        return self._socket


def _with_descriptor(file: IO[bytes], files: ExitStack) -> IO[bytes]:
    """Return the content, from its beginning, as a file that another process can be given."""
    file.seek(0)
    try:
        file.fileno()
    except OSError:  # in memory
        copy = files.enter_context(TemporaryFile())
        while piece := file.read(CHUNK_BYTES):
            copy.write(piece)
        copy.flush()
        file.seek(0)
        copy.seek(0)
        return copy
    else:
        return file


def _read_line(child: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = child.recv(CHUNK_BYTES)
        if not piece:
            raise ConnectionResetError("The child has closed its end.")
        line += piece
    return line


def _without_secrets() -> dict[str, str]:
    """Return an environment that tells the child nothing about this installation."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FAIRBOARD_", "AWS_"))}
