"""Function calls on untrusted input, in processes with limits and without access to the site.

The processes are forked from a server that the first call starts, without the settings in its environment.
"""

import math
import os
import tempfile
import threading
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from multiprocessing import connection, context, forkserver, get_context
from multiprocessing.reduction import DupFd
from typing import Any, BinaryIO, TypeVar

from grader import logs
from grader.errors import ErrorKind, ParticipantError
from grader.worker.processes import end_process_after, end_process_after_cpu, limit_memory

AT_ONCE = 2
WAIT_SECONDS = 3.0
START_SECONDS = 30  # of the server, whose imports may take long on a busy machine
END_SECONDS = 1
PRELOADED = ["grader.worker.checking", "grader.prose.markdown"]

T = TypeVar("T")

_lock = threading.Lock()
_free = threading.BoundedSemaphore(AT_ONCE)
_server: list[int] = []  # the process that started the server of this process


class Busy(ParticipantError):
    """Other calls are in progress."""

    public_name = "share_used"
    kind = ErrorKind.LIMITED
    message = "Other files or texts are being checked. Try again in 1 second."
    retry_after = timedelta(seconds=1)


class CallDied(Exception):
    """The process ended without a result, because of its limits or its input."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


class OpenFile:
    """An open file as an argument of a call, which reads it from its start."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __reduce__(self) -> tuple[Any, ...]:
        self._file.seek(0)
        try:
            return _reopened, (DupFd(self._file.fileno()),)
        except OSError:  # the file is in memory
            return BytesIO, (self._file.read(),)


def call(
    function: Callable[..., T], *arguments: Any, seconds: float, cpu_seconds: float = 0, memory_mb: int
) -> T:
    """Return the result of a call in another process; raise Busy, CallDied or the exception of the call."""
    if not _free.acquire(timeout=WAIT_SECONDS):
        raise Busy
    try:
        return _call(function, arguments, (seconds, cpu_seconds, memory_mb))
    finally:
        _free.release()


def _call(function: Callable[..., T], arguments: tuple[Any, ...], limits: tuple[float, float, int]) -> T:
    processes = _context()
    ours, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=_run, args=(theirs, logs.in_force(), limits, function, arguments))
    with ours:
        try:
            with theirs:
                process.start()
        except (BrokenPipeError, EOFError):  # it ended while it received the arguments
            raise CallDied(None) from None
        answer: tuple[T, Exception | None] | None = None
        try:
            # The process ends itself after its time; then, this end of the pipe closes.
            answer = ours.recv() if ours.poll(limits[0] + START_SECONDS) else None
        except (OSError, EOFError):
            process.join(END_SECONDS)
        finally:
            process.kill()
            process.join()
    if answer is None:
        raise CallDied(process.exitcode)
    result, error = answer
    if error is not None:
        raise error
    return result


def _context() -> context.ForkServerContext:
    """Return the context of the server, and start it unless this process has one."""
    processes = get_context("forkserver")
    with _lock:
        if _server != [os.getpid()]:
            # A web process has a folder for uploads, whose path may be too long for a socket.
            folder, tempfile.tempdir = tempfile.tempdir, None
            secrets = {n: v for n, v in os.environ.items() if n.startswith(("FAIRBOARD_", "AWS_"))}
            for name in secrets:
                del os.environ[name]
            try:
                processes.set_forkserver_preload(PRELOADED)
                forkserver.ensure_running()
            finally:
                os.environ.update(secrets)
                tempfile.tempdir = folder
            _server[:] = [os.getpid()]
    return processes


def _run(
    answer: connection.Connection,
    logging: dict[str, str],
    limits: tuple[float, float, int],
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    seconds, cpu_seconds, memory_mb = limits
    logs.configure_process("isolated", **logging)
    limit_memory(memory_mb)
    end_process_after(math.ceil(seconds))
    end_process_after_cpu(cpu_seconds)
    try:
        answer.send((function(*arguments), None))
    except Exception as error:
        answer.send((None, error))


def _reopened(descriptor: Any) -> BinaryIO:
    return os.fdopen(descriptor.detach(), "rb")
