"""Sandbox client: starts a zygote, sends requests, limits time and memory, validates replies."""

import enum
import json
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grader.sandbox.functions import MEMORY, MOST_LOG_BYTES, PACKAGES, READY, packages_of
from grader.sandbox.lockdown import layers

START_SECONDS = 120
_PIECE = 1 << 20
# Everything else would make results depend on the server, or contain secrets.
_ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/nonexistent",
    "PATH": "/usr/bin:/bin",
}
_KEPT = ("LD_LIBRARY_PATH", "PYTHONPATH")


class CallStatus(enum.StrEnum):
    """The outcome of a call. The first six are the status bytes of `functions`, in order."""

    OK = "ok"
    MESSAGE = "message"  # the only one with a text for participants
    ERROR = "error"
    WRONG_RESULT = "wrong_result"
    NOT_FINITE = "not_finite"
    MEMORY = "memory"
    TIME = "time"
    DIED = "died"
    BAD_REPLY = "bad_reply"
    NEGATIVE = "negative"  # stated by the platform, for a metric that is declared to be never negative


_BYTES = tuple(CallStatus)[: MEMORY + 1]


class SandboxUnavailable(RuntimeError):
    """Functions cannot be called on this machine, or the zygote does not start."""


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """A call of `function` in `source`, the text of metric.py, whose reply has a number for each term."""

    source: str
    function: str  # `score` or `grade`
    solution: Mapping[str, Any] = field(default_factory=dict)  # columns by name
    submission: Mapping[str, Any] = field(default_factory=dict)
    id: str = "id"  # the column with the ids
    settings: Mapping[str, Any] = field(default_factory=dict)  # further arguments of `score`
    terms: tuple[str, ...] = ("score",)  # the values to return, first the score
    describes: bool = False  # the reply has the score, and the names of the values in the log
    shows_messages: bool = False  # only for a solution without labels


@dataclass(frozen=True, slots=True)
class CallLimits:
    """The limits of a call: wall and CPU time, and memory in addition to the packages and the tables."""

    seconds: float = 30.0
    memory_mb: int = 1024


@dataclass(frozen=True, eq=False, slots=True)
class CallOutcome:
    """The result of a call.

    Attributes
    ----------
    status : CallStatus
        How the call ended.
    numbers : ndarray of float64
        As many numbers as requested, all finite, if the status is `OK`; otherwise empty.
    log : str
        Output and traceback, for organizers only; for `MESSAGE`, the message for participants.
    seconds, memory_bytes
        The CPU time, and the memory in addition to that of the zygote.
    """

    status: CallStatus
    numbers: NDArray[np.float64]
    log: str
    seconds: float
    memory_bytes: int


class SandboxClient:
    """Calls functions in sandboxed processes forked by a zygote, which starts with the first call.

    Any number of threads, and processes forked after `start`, may call at the same time. Each call has its
    own child, so no call waits for another one. If the zygote has died, or a source uses more packages, the
    next call starts another one, and repeats calls that the old one has not finished.
    """

    def __init__(self, *, hash_seed: int = 0, packages: Sequence[str] = ()) -> None:
        self._hash_seed, self._packages = hash_seed, tuple(packages)
        self._end = float("inf")
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0

    def start(self, source: str = "", *, seconds: float = float("inf")) -> None:
        """Start the zygote for a source, and then a time limit that all later calls share.

        Raises SandboxUnavailable. The start takes seconds, unless the zygote runs.
        """
        with self._lock:
            self._running(source)
        self._end = time.monotonic() + seconds

    def call(self, request: SandboxRequest, limits: CallLimits = CallLimits()) -> CallOutcome:
        """Call a function in a sandboxed process; raise SandboxUnavailable, but no errors of the function.

        Without any time left, the status is `TIME`.
        """
        left = min(limits.seconds, self._end - time.monotonic())
        if left <= 0:
            return CallOutcome(CallStatus.TIME, np.empty(0), "", 0.0, 0)
        data = {each.name: getattr(request, each.name) for each in fields(request)}
        with os.fdopen(os.memfd_create("request"), "wb") as file:
            pickle.dump(data, file, protocol=5)
            file.flush()
            arguments = f"/proc/self/fd/{file.fileno()}", request, replace(limits, seconds=left)
            with suppress(ConnectionError):  # the zygote has died; the next call starts another one
                return self._call(*arguments)
            try:
                return self._call(*arguments)
            except ConnectionError as error:
                raise SandboxUnavailable(f"The sandbox does not work: {error}") from error

    def close(self) -> None:
        """End the zygote and all its children, if this process has started it."""
        with self._lock:
            if self._control is not None:
                self._control.close()
            if self._process is not None and self._owner == os.getpid():
                with suppress(ProcessLookupError):
                    self._process.kill()
                self._process.wait()
            self._process = self._control = None

    def _running(self, source: str) -> socket.socket:
        if not (needed := set(packages_of(source))) <= set(self._packages):
            self.close()
            self._packages = tuple(each for each in PACKAGES if each in needed | set(self._packages))
        is_dead = self._owner == os.getpid() and self._process and self._process.poll() is not None
        if self._control is not None and not is_dead:
            return self._control
        self.close()
        if refusal := layers().refusal:
            raise SandboxUnavailable(refusal)
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        environment |= {**_ENVIRONMENT, "PYTHONHASHSEED": str(self._hash_seed)}
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = (sys.executable, "-s", "-P", "-m", "grader.sandbox.zygote", *self._packages)
        options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "cwd": "/", "start_new_session": True}
        with theirs:
            self._process = subprocess.Popen(command, env=environment, stdin=theirs.fileno(), **options)
        self._control, self._owner = control, os.getpid()
        is_ready = select.select([control], [], [], START_SECONDS)[0] and control.recv(len(READY)) == READY
        if not is_ready:
            self.close()
            raise SandboxUnavailable(f"The sandbox did not start within {START_SECONDS} seconds.")
        return control

    def _call(self, path: str, request: SandboxRequest, limits: CallLimits) -> CallOutcome:
        message = json.dumps({"cpu_seconds": int(limits.seconds) + 1, "memory_mb": limits.memory_mb}).encode()
        reading, writing = os.pipe()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, open(reading, "rb", buffering=0) as reply:  # noqa: PTH123 - a descriptor
            control = None
            try:
                try:
                    with self._lock, open(path, "rb", buffering=0) as copy:  # noqa: PTH123 - own offset
                        control = self._running(request.source)
                        socket.send_fds(control, [message], [copy.fileno(), writing, theirs.fileno()])
                finally:
                    theirs.close()
                    os.close(writing)
                return _outcome(reply.fileno(), ours, request, limits.seconds)
            except ConnectionError:
                with self._lock:
                    if self._control is control:  # no other call has replaced it
                        self.close()
                raise


def _outcome(reply: int, channel: socket.socket, request: SandboxRequest, seconds: float) -> CallOutcome:
    """Read the reply until the child has ended; the child is killed when the caller closes the channel."""
    count = len(request.terms)
    end, most = time.monotonic() + seconds, MOST_LOG_BYTES + 8 * count + 1
    data, report = bytearray(), dict[str, Any]()
    waiting = {reply, channel.fileno()}
    status: CallStatus | None = None
    while waiting and status is None:
        left = max(end - time.monotonic(), 0)
        events = select.poll()
        for descriptor in waiting:
            events.register(descriptor, select.POLLIN)
        ready = {descriptor for descriptor, _ in events.poll(left * 1000)}
        if not ready and not left:
            status = CallStatus.TIME
        if reply in ready:
            piece = os.read(reply, _PIECE)
            data += piece
            waiting -= set() if piece else {reply}
            status = CallStatus.BAD_REPLY if len(data) > most else None
        if channel.fileno() in ready:
            waiting.remove(channel.fileno())
            if not (answer := channel.recv(4096)):
                raise ConnectionResetError("the process has died")
            report = json.loads(answer)
    cpu, memory = float(report.get("cpu", seconds)), int(report.get("memory", 0))
    start = len(data) - 8 * count - 1
    if status is None and start < 0:
        status = CallStatus.DIED if report["code"] else CallStatus.BAD_REPLY
        status = CallStatus.TIME if cpu >= seconds else status
    numbers = np.empty(0)
    if status is None:
        status = _BYTES[data[-1]] if data[-1] < len(_BYTES) else CallStatus.BAD_REPLY
        if status is CallStatus.MESSAGE and not request.shows_messages:
            status = CallStatus.BAD_REPLY
        if status is CallStatus.OK:
            numbers = np.frombuffer(data, "<f8", count, start).copy()
            if not np.isfinite(numbers).all():
                status, numbers = CallStatus.NOT_FINITE, np.empty(0)
    log = bytes(data[: min(max(start, 0), MOST_LOG_BYTES)]).decode("utf-8", "replace")
    return CallOutcome(status, numbers, log, cpu, memory)
