"""Queue, time limit and each person's share of checking time for file checks before a submission."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from grader.settings import Settings
from grader.worker.process.child import AnsweringProcess, running_module, without_secrets
from grader.worker.process.shares import Shares

WAIT_SECONDS = 3.0
TIME_LIMIT_SECONDS = 10
START_SECONDS = 20
MAX_QUEUED = 3
CHUNK_BYTES = 1 << 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the file reader answered: `problems` and `notes` as JSON-ready data."""

    problems: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class Checker:
    """Checks one file at a time in a child with limits of time and memory, started with the first file.

    A few more may wait, one of each person, and only a moment: whoever finds the queue full, waits too long
    or has a file that ends the child gets None, and its file is checked by the worker that scores it. Of the
    time of the child one person gets a share.
    """

    def __init__(self, settings: Settings, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._memory_mb = settings.scoring_memory_mb
        self._wait_seconds = wait_seconds
        self._child: _Child | None = None
        self._start_afresh()

    def check(
        self,
        upload: IO[bytes],
        *,
        row_ids_sha256: str,
        open_row_ids: Callable[[], BinaryIO],
        other_labels: Sequence[str] = (),
        who: str | int,
    ) -> Checked | None:
        """Return everything that is wrong with a file and worth a remark; None if it was not checked.

        Columns named for one of the `other_labels` may stand in the file. Raises ShareUsed where the person
        `who` had enough for now.
        """
        if self._pid != os.getpid():
            self._start_afresh()
        with self._shares.hold(who) as note:
            if not self._places.acquire(blocking=False):
                return None
            try:
                if not self._turn.acquire(timeout=self._wait_seconds):
                    return None
                begun = time.monotonic()
                try:
                    return self._ask(upload, row_ids_sha256, open_row_ids, other_labels)
                finally:
                    note(time.monotonic() - begun)
                    self._turn.release()
            finally:
                self._places.release()

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.process.close()
            self._child = None

    def _start_afresh(self) -> None:
        self._pid = os.getpid()
        self._places = threading.BoundedSemaphore(1 + MAX_QUEUED)
        self._turn = threading.Lock()
        self._shares = Shares(
            "file", "check", "checked", otherwise=", or submit: a file is always checked then"
        )
        self._child = None  # a forked process has its own

    def _ask(
        self,
        upload: IO[bytes],
        row_ids_sha256: str,
        open_row_ids: Callable[[], BinaryIO],
        other_labels: Sequence[str],
    ) -> Checked | None:
        try:
            return self._running().ask(upload, row_ids_sha256, open_row_ids, other_labels)
        except OSError:
            self.close()
            logger.warning("The process that checks files has died of one, or took too long.")
            return None

    def _running(self) -> "_Child":
        if self._child is not None and self._child.process.code is not None:
            self.close()
        if self._child is None:
            self._child = _Child(self._memory_mb)
        return self._child


class _Child:
    """The running process, and the row ids that it holds."""

    def __init__(self, memory_mb: int) -> None:
        self._row_ids_sha256 = ""
        limits = (str(TIME_LIMIT_SECONDS), str(memory_mb))
        self.process = AnsweringProcess(
            running_module("grader.worker.checking.program", *limits), environment=without_secrets()
        )

    def ask(
        self,
        upload: IO[bytes],
        row_ids_sha256: str,
        open_row_ids: Callable[[], BinaryIO],
        other_labels: Sequence[str],
    ) -> Checked | None:
        """Have a file checked; raise OSError if the child ends or does not answer in time."""
        with ExitStack() as files:
            sent = [_with_descriptor(upload, files)]
            if self._row_ids_sha256 != row_ids_sha256:
                sent.append(_with_descriptor(files.enter_context(open_row_ids()), files))
            question = json.dumps({"other_labels": list(other_labels)}).encode() + b"\n"
            self._row_ids_sha256 = row_ids_sha256
            seconds = START_SECONDS + TIME_LIMIT_SECONDS
            answer = json.loads(self.process.ask(question, files=sent, seconds=seconds))
        return Checked(answer["problems"], answer["notes"]) if answer else None


def _with_descriptor(file: IO[bytes], files: ExitStack) -> IO[bytes]:
    """Return the content, from its beginning, as a file that another process can be given."""
    file.seek(0)
    try:
        file.fileno()
    except OSError:  # in memory
        copy: IO[bytes] = files.enter_context(TemporaryFile())  # noqa: SIM115
        while piece := file.read(CHUNK_BYTES):
            copy.write(piece)
        copy.flush()
        file.seek(0)
        copy.seek(0)
        return copy
    else:
        return file
