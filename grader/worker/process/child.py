"""Child processes of this one: start them, ask them a line at a time, have them end, end them by force."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

HAND_BACK_SECONDS = 2
PIECE_BYTES = 1 << 20


def running_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module of ours by this Python."""
    return (sys.executable, "-P", "-m", module, *arguments)


def without_secrets() -> dict[str, str]:
    """Return an environment without any variable about this installation."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FAIRBOARD_", "AWS_"))}


class ChildProcess:
    """A process that this one has started; who leads a session is ended with all that it started itself."""

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
        """Its id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """The code that it ended with, below 0 by a signal; None while it runs."""
        return self._process.poll()

    def ends_within(self, seconds: float) -> bool:
        """Wait for its end; return whether it came."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def request_end(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    def signal_all(self, number: int) -> None:
        """Send a signal to it and, if it leads a session, to what it started, which may have outlived it."""
        if self._leads_session:
            # Ids are not given out again at once.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
        else:
            self._process.send_signal(number)

    def stop(self) -> None:
        """Have it hand back what it has, also from another thread; by force if it does not end soon."""
        self.request_end()
        if not self.ends_within(HAND_BACK_SECONDS):
            self.signal_all(signal.SIGKILL)

    def close(self) -> None:
        """End it at once, where it still runs."""
        self.signal_all(signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()


class AnsweringProcess(ChildProcess):
    """A child that answers lines; its standard input and output are a socket, and end with this process."""

    def __init__(self, command: Sequence[str], *, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        with theirs:
            try:
                super().__init__(command, environment=environment, stdin=theirs, stdout=theirs)
            except OSError:
                self._socket.close()
                raise

    def ask(self, question: bytes, *, files: Sequence[IO[bytes]] = (), seconds: float) -> bytes:
        """Send a line, and open files with it; return the line that comes back.

        Raises OSError if the child ends or does not answer in time; then it has to be closed.
        """
        self._socket.settimeout(seconds)
        descriptors = [file.fileno() for file in files]
        sent = socket.send_fds(self._socket, [question], descriptors) if descriptors else 0
        self._socket.sendall(question[sent:])
        answer = bytearray()
        while not answer.endswith(b"\n"):
            piece = self._socket.recv(PIECE_BYTES)
            if not piece:
                raise ConnectionResetError("The child has closed its end.")
            answer += piece
        return bytes(answer)

    def close(self) -> None:
        """End it at once, where it still runs."""
        super().close()
        self._socket.close()
