"""Child processes: start, fork, requests, termination, request loop."""

import contextlib
import ctypes
import gc
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import IO, Any

HAND_BACK_SECONDS = 2
START_SECONDS = 30
MOST_FILES = 2
PIECE_BYTES = 1 << 20
FORK_SECONDS = 10
LOOK_SECONDS = 0.02
_PR_SET_PDEATHSIG = 1
_LIBRARY = ctypes.CDLL(None)

logger = logging.getLogger(__name__)


def running_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with the current Python interpreter."""
    return (sys.executable, "-P", "-m", module, *arguments)


def without_secrets() -> dict[str, str]:
    """Return the environment without the variables that may contain secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FAIRBOARD_", "AWS_"))}


def end_with(parent: int) -> None:
    """Kill this process when its parent ends, on Linux; call this in the forked process.

    The signal is sent when the forking thread ends, so this thread must live as long as its process.
    """
    if sys.platform == "linux":
        _LIBRARY.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended in the meantime
        os.kill(os.getpid(), signal.SIGKILL)


class ChildProcess:
    """A child process.

    If it is a session leader, it is killed together with its own children, and when this process ends.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stdin: Any = subprocess.DEVNULL,
        stdout: Any = None,
        pass_fds: Sequence[int] = (),
        leads_session: bool = False,
    ) -> None:
        self._leads_session = leads_session
        self._process: subprocess.Popen[bytes] | ForkedProcess = subprocess.Popen(
            command,
            env=environment,
            stdin=stdin,
            stdout=stdout,
            bufsize=0,
            pass_fds=pass_fds,
            start_new_session=leads_session,
            # Only the supervisor starts session leaders, and it has no threads.
            preexec_fn=partial(end_with, os.getpid()) if leads_session else None,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal, or None while the process runs."""
        return self._process.poll()

    def ends_within(self, seconds: float) -> bool:
        """Wait for the process to end; return whether it has ended."""
        end = time.monotonic() + seconds
        while self.code is None and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        return self.code is not None

    def request_end(self) -> None:
        """Ask the process to end."""
        if self.code is None:
            os.kill(self.pid, signal.SIGTERM)

    def signal_all(self, number: int) -> None:
        """Send a signal to the process or, for a session leader, to all processes of its group."""
        if self._leads_session:
            # This is safe even after the leader has ended, because the system does not reuse ids immediately.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
        elif self.code is None:
            os.kill(self.pid, number)

    def stop(self) -> None:
        """Ask the process to end, and kill it if it does not end soon. This method is thread-safe."""
        self.request_end()
        if not self.ends_within(HAND_BACK_SECONDS):
            self.signal_all(signal.SIGKILL)

    def close(self) -> None:
        """Kill the process if it still runs."""
        self.signal_all(signal.SIGKILL)
        self.ends_within(float("inf"))
        if self._process.stdin is not None:
            self._process.stdin.close()


class AnsweringProcess(ChildProcess):
    """A child that receives line-based requests over a socket, which closes when this process ends.

    It is forked from the `nursery`, or if there is none or it has died, a new process.
    """

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], nursery: "Nursery | None" = None
    ) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                if nursery is not None:
                    self._process, self._leads_session = ForkedProcess(nursery, theirs.fileno()), False
                    return
            except ConnectionError as error:
                logger.warning("Another job process is started instead: %s", error)
            try:
                super().__init__(command, environment=environment, stdin=theirs, stdout=theirs)
            except OSError:
                self._socket.close()
                raise

    def ask(self, question: bytes, *, files: Sequence[IO[bytes]] = (), seconds: float) -> bytes:
        """Send a request line and open files; return the response line.

        Raises OSError if the child ends or does not respond in time; the caller must then close it.
        """
        self._socket.settimeout(seconds)
        descriptors = [file.fileno() for file in files]
        sent = socket.send_fds(self._socket, [question], descriptors) if descriptors else 0
        self._socket.sendall(question[sent:])
        answer = bytearray()
        while not answer.endswith(b"\n"):
            piece = self._socket.recv(PIECE_BYTES)
            if not piece:
                raise ConnectionResetError("The child has closed the connection.")
            answer += piece
        return bytes(answer)

    def close(self) -> None:
        """Kill the process if it still runs."""
        super().close()
        self._socket.close()


class ChildDied(Exception):
    """The child ended or was killed after a timeout; `code` is its exit code."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)
        self.code = code


class RestartedChild:
    """An AnsweringProcess that starts with its first request and restarts after it has died."""

    def __init__(
        self, command: Sequence[str], *, environment: Mapping[str, str], nursery: "Nursery | None" = None
    ) -> None:
        self._command, self._environment, self._nursery = command, environment, nursery
        self._process: AnsweringProcess | None = None
        self._pid = os.getpid()
        self._has_answered = False
        self.is_stopped = False

    @property
    def process(self) -> AnsweringProcess | None:
        """The current process, which may have ended, or None in a forked process."""
        return self._process if self._pid == os.getpid() else None

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.code is None

    def start(self) -> AnsweringProcess:
        """Start the process if it does not run; raise ChildDied after `stop`."""
        if self.process is None or not self.is_running:
            self.close()
            self._pid, self._has_answered = os.getpid(), False
            self._process = (
                None
                if self.is_stopped
                else AnsweringProcess(self._command, environment=self._environment, nursery=self._nursery)
            )
        if self._process is None or self.is_stopped:  # another thread may have called `stop` in the meantime
            self.close()
            raise ChildDied(None)
        return self._process

    def ask(self, question: Any, *, files: Sequence[IO[bytes]] = (), seconds: float) -> Any:
        """Send a JSON-serializable request and return the response; raise ChildDied."""
        process = self.start()
        limit = seconds + (0 if self._has_answered else START_SECONDS)
        try:
            answer = json.loads(
                process.ask(json.dumps(question).encode() + b"\n", files=files, seconds=limit)
            )
        except OSError as error:
            process.ends_within(1)
            code = process.code
            self.close()
            raise ChildDied(code) from error
        self._has_answered = True
        return answer

    def stop(self) -> None:
        """Stop the process and start no other; safe to call from another thread."""
        self.is_stopped = True
        if self.process is not None:
            self.process.stop()

    def close(self) -> None:
        """Kill the process if it still runs."""
        if self.process is not None:
            self.process.close()
        self._process = None


class Nursery:
    """A process, forked from this one before it has threads or connections, that forks the job processes.

    They run `program`, start in milliseconds and share the memory of this process.
    """

    def __init__(self, program: Callable[[], object]) -> None:
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        gc.collect()
        gc.freeze()  # collections in forked processes would copy the memory that they share
        parent = os.getpid()
        if os.fork() == 0:
            try:
                end_with(parent)
                self._socket.close()
                _fork_on_request(theirs, program)
            except Exception:
                logger.exception("A job process failed.")
            finally:
                os._exit(0)
        theirs.close()
        self._socket.settimeout(FORK_SECONDS)

    def ask(self, question: str, files: Sequence[int] = ()) -> Any:
        """Return the id of a new child that reads a file, or a child's exit code; raise ConnectionError."""
        with self._lock:
            try:
                socket.send_fds(self._socket, [question.encode()], files)
                return json.loads(self._socket.recv(PIECE_BYTES))
            except (OSError, ValueError) as error:  # the response of a dead process is empty
                self._socket.close()
                raise ConnectionError("The process that forks job processes has died.") from error


class ForkedProcess:
    """A child of a nursery, which reaps it only when this object asks; its id is not reused before."""

    stdin = None

    def __init__(self, nursery: Nursery, stdin: int) -> None:
        self._nursery, self.pid = nursery, nursery.ask("fork", [stdin])
        self._code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        if self._code is None:
            try:
                self._code = self._nursery.ask(str(self.pid))
            except ConnectionError:
                self._code = -signal.SIGKILL
        return self._code


def _fork_on_request(parent: socket.socket, program: Callable[[], object]) -> None:
    """Fork children and return their exit codes until the parent closes the socket; run a child's program."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    nursery = os.getpid()
    answer: int | None
    while (received := socket.recv_fds(parent, PIECE_BYTES, 1))[0]:
        question, files, _, _ = received
        if not files:
            pid, status = os.waitpid(int(question), os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        elif (answer := os.fork()) == 0:
            end_with(nursery)
            parent.close()
            os.dup2(files[0], sys.stdin.fileno())
            os.close(files[0])
            program()
            return
        for file in files:
            os.close(file)
        parent.sendall(json.dumps(answer).encode())


def answer_parent(answer: Callable[[Any, Sequence[int]], Any]) -> None:
    """Respond to requests with open files until the parent closes the socket."""
    with socket.socket(fileno=sys.stdin.fileno()) as parent:
        while True:
            question, files, _, _ = socket.recv_fds(parent, PIECE_BYTES, MOST_FILES)
            if not question:
                return
            while not question.endswith(b"\n") and (piece := parent.recv(PIECE_BYTES)):
                question += piece
            parent.sendall(json.dumps(answer(json.loads(question), files)).encode() + b"\n")
