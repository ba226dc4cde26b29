"""Child processes: start, requests, termination, request loop."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

HAND_BACK_SECONDS = 2
START_SECONDS = 30
MOST_FILES = 2
PIECE_BYTES = 1 << 20


def running_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module with the current Python interpreter."""
    return (sys.executable, "-P", "-m", module, *arguments)


def without_secrets() -> dict[str, str]:
    """Return the environment without the variables that may contain secrets."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FAIRBOARD_", "AWS_"))}


class ChildProcess:
    """A child process. If it is a session leader, it is killed together with its own children."""

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
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=stdin,
            stdout=stdout,
            bufsize=0,
            pass_fds=pass_fds,
            start_new_session=leads_session,
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
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def request_end(self) -> None:
        """Ask the process to end."""
        self._process.terminate()

    def signal_all(self, number: int) -> None:
        """Send a signal to the process or, for a session leader, to all processes of its group."""
        if self._leads_session:
            # This is safe even after the leader has ended, because the system does not reuse ids immediately.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
        else:
            self._process.send_signal(number)

    def stop(self) -> None:
        """Ask the process to end, and kill it if it does not end soon. This method is thread-safe."""
        self.request_end()
        if not self.ends_within(HAND_BACK_SECONDS):
            self.signal_all(signal.SIGKILL)

    def close(self) -> None:
        """Kill the process if it still runs."""
        self.signal_all(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


class AnsweringProcess(ChildProcess):
    """A child that receives line-based requests over a socket, which closes when this process ends."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
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

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str]) -> None:
        self._command, self._environment = command, environment
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
                None if self.is_stopped else AnsweringProcess(self._command, environment=self._environment)
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
