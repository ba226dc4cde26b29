"""Parent side of file checks before a submission: queue, time limit, shares of time."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from grader.settings import Settings
from grader.worker.process.child import ChildDied, RestartedChild, running_module, without_secrets
from grader.worker.process.shares import Shares

WAIT_SECONDS = 3.0
TIME_LIMIT_SECONDS = 10
ANSWER_SECONDS = TIME_LIMIT_SECONDS + 5  # without the start of the child
MAX_QUEUED = 3
CHUNK_BYTES = 1 << 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of the file reader as JSON-ready data."""

    problems: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class Checker:
    """Checks one file at a time in a child with limits of time and memory, started with the first file.

    A few more files wait for a moment, one per person. `check` returns None for a full queue, a timeout or a
    file that kills the child: the worker that scores the file checks it.
    """

    def __init__(self, settings: Settings, *, wait_seconds: float = WAIT_SECONDS) -> None:
        limits = (str(TIME_LIMIT_SECONDS), str(settings.scoring_memory_mb))
        self._child = RestartedChild(
            running_module("grader.worker.children.check_program", *limits), environment=without_secrets()
        )
        self._shares = Shares(
            *("file", "check", "checked"),
            wait_seconds=wait_seconds,
            most_waiting=MAX_QUEUED,
            otherwise=", or submit: a file is always checked then",
        )
        self._row_ids_sha256 = ""  # the row ids in the child

    def check(
        self,
        upload: IO[bytes],
        *,
        row_ids_sha256: str,
        open_row_ids: Callable[[], BinaryIO],
        other_labels: Sequence[str] = (),
        who: str | int,
    ) -> Checked | None:
        """Return the problems and notes of a file, None if it was not checked; raise ShareUsed.

        The file may have columns that are named like the `other_labels`.
        """
        with self._shares.hold(who) as is_mine:
            return self._ask(upload, row_ids_sha256, open_row_ids, other_labels) if is_mine else None

    def close(self) -> None:
        """End the child."""
        self._child.close()

    def _ask(
        self,
        upload: IO[bytes],
        row_ids_sha256: str,
        open_row_ids: Callable[[], BinaryIO],
        other_labels: Sequence[str],
    ) -> Checked | None:
        if not self._child.is_running:
            self._row_ids_sha256 = ""
        with ExitStack() as files:
            sent = [_with_descriptor(upload, files)]
            if self._row_ids_sha256 != row_ids_sha256:
                sent.append(_with_descriptor(files.enter_context(open_row_ids()), files))
            self._row_ids_sha256 = row_ids_sha256
            try:
                answer = self._child.ask(list(other_labels), files=sent, seconds=ANSWER_SECONDS)
            except (ChildDied, OSError):
                logger.warning("The process that checks files has died of one, or took too long.")
                return None
        return Checked(answer["problems"], answer["notes"]) if answer else None


def _with_descriptor(file: IO[bytes], files: ExitStack) -> IO[bytes]:
    """Return the content as a file with a descriptor, at its beginning."""
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
