"""Parent side of file checks before submission: queue, time limits, time shares."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from grader import logs
from grader.settings import Settings
from grader.worker.process.child import ChildDied, RestartedChild, running_module, without_secrets
from grader.worker.process.shares import Shares

WAIT_SECONDS = 3.0
TIME_LIMIT_SECONDS = 10
ANSWER_SECONDS = TIME_LIMIT_SECONDS + 5  # excluding the child's startup
MAX_QUEUED = 3
CHUNK_BYTES = 1 << 20

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CheckerResult:
    """Problems and notes of a checked file as JSON-ready data."""

    problems: list[dict[str, Any]]
    notes: list[dict[str, Any]]


class Checker:
    """Checks one file at a time in a child process with time and memory limits.

    The child is started when the first file arrives. A few other files, one per user, may wait briefly.
    `check` returns None if the queue is full, if the check times out, or if the file kills the child. Such a
    file is checked only when it is scored.
    """

    def __init__(self, settings: Settings, *, wait_seconds: float = WAIT_SECONDS) -> None:
        limits = (str(TIME_LIMIT_SECONDS), str(settings.scoring_memory_mb))
        self._child = RestartedChild(
            running_module("grader.worker.children.check_program", *limits),
            environment=without_secrets() | logs.environment(),
        )
        self._shares = Shares(
            *("file", "check", "checked"),
            wait_seconds=wait_seconds,
            most_waiting=MAX_QUEUED,
            otherwise=", or submit the file; it is checked after the upload",
        )
        self._row_ids_sha256 = ""  # hash of the row ids that the child holds

    def check(
        self,
        upload: IO[bytes],
        *,
        row_ids_sha256: str,
        open_row_ids: Callable[[], BinaryIO],
        metric_settings: Mapping[str, Any] | None = None,
        other_labels: Sequence[str] = (),
        who: str | int,
    ) -> CheckerResult | None:
        """Return the problems and notes of a file, or None if it was not checked; raise ShareUsed.

        The file is for the metric with these settings or, without any, for the bias metric; it may then have
        columns with the names in `other_labels`.
        """
        question = [list(other_labels), metric_settings]
        with self._shares.hold(who) as is_mine:
            return self._ask(upload, row_ids_sha256, open_row_ids, question) if is_mine else None

    def close(self) -> None:
        """End the child."""
        self._child.close()

    def _ask(
        self,
        upload: IO[bytes],
        row_ids_sha256: str,
        open_row_ids: Callable[[], BinaryIO],
        question: Sequence[Any],
    ) -> CheckerResult | None:
        if not self._child.is_running:
            self._row_ids_sha256 = ""
        with ExitStack() as files:
            sent = [_with_descriptor(upload, files)]
            if self._row_ids_sha256 != row_ids_sha256:
                sent.append(_with_descriptor(files.enter_context(open_row_ids()), files))
            self._row_ids_sha256 = row_ids_sha256
            try:
                answer = self._child.ask(question, files=sent, seconds=ANSWER_SECONDS)
            except (ChildDied, OSError):
                logger.warning("The process that checks files died or exceeded its time limit.")
                return None
        return CheckerResult(answer["problems"], answer["notes"]) if answer else None


def _with_descriptor(file: IO[bytes], files: ExitStack) -> IO[bytes]:
    """Return a file with a descriptor and the same content, positioned at its start."""
    file.seek(0)
    try:
        file.fileno()
    except OSError:  # the file is in memory
        copy: IO[bytes] = files.enter_context(TemporaryFile())  # noqa: SIM115
        while piece := file.read(CHUNK_BYTES):
            copy.write(piece)
        copy.flush()
        file.seek(0)
        copy.seek(0)
        return copy
    else:
        return file
