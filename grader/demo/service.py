"""Start the service and run commands for the demo, in separate processes."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.demo.api import Api, Unreachable
from grader.errors import OrganizerError

FAIRBOARD = (sys.executable, "-P", "-m", "grader.cli")
START_TIMEOUT_SECONDS = 90
REPORT_SECONDS = 3
STOP_TIMEOUT_SECONDS = 60
LOG_LINES_SHOWN = 30


class CommandFailed(OrganizerError):
    """A `fairboard` command did not do what the demo asked of it."""

    public_name = "command_failed"


class ServiceFailed(OrganizerError):
    """`fairboard serve` did not start or ended early."""

    public_name = "service_failed"


@dataclass(frozen=True, slots=True)
class Installation:
    """Where a service listens and the environment that it and the commands run in."""

    host: str
    port: int
    environment: Mapping[str, str]

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://{self.host}:{self.port}"

    def api(self, token: str | None = None) -> Api:
        """Return the JSON API, as the owner of `token` or as nobody."""
        return Api(self.host, self.port, token)

    def command(self, *arguments: str) -> str:
        """Run `fairboard …` and return what it printed; raise CommandFailed with its complaint."""
        done = subprocess.run(
            [*FAIRBOARD, *arguments], env=dict(self.environment), capture_output=True, text=True
        )
        if done.returncode != 0:
            raise CommandFailed(
                f"`fairboard {' '.join(arguments[:3])} …` ended with {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def lines_of(self, module: str, *arguments: str) -> Iterator[str]:
        """Run a module as a program and yield each line as it prints it; raise CommandFailed."""
        command = [sys.executable, "-P", "-m", module, *arguments]
        with subprocess.Popen(
            command, env=dict(self.environment), stdout=subprocess.PIPE, text=True
        ) as process:
            yield from process.stdout or ()
        if process.returncode != 0:
            raise CommandFailed(f"`python -m {module} …` ended with {process.returncode}.")


@contextlib.contextmanager
def serving(
    installation: Installation, log: Path, *, waiting: Callable[[], None] = lambda: None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `fairboard serve` until the end of the block, or of this process, and wait until it is ready.

    `waiting` is called every few seconds until then.
    """
    _refuse_taken_address(installation)
    with log.open("wb") as output:
        server = subprocess.Popen(
            [*FAIRBOARD, "serve"],
            env=dict(installation.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C is for the demo, which then stops the service in order
        )
    guardian = subprocess.Popen(
        [sys.executable, "-m", "grader.demo.guardian", str(server.pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _wait_until_ready(installation, server, log, waiting)
        yield server
    finally:
        server.terminate()
        try:
            server.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        guardian.communicate()


def _refuse_taken_address(installation: Installation) -> None:
    with contextlib.suppress(Unreachable):
        installation.api().is_ready()
        raise ServiceFailed(
            f"Something answers at {installation.address} already. Is a demo running? "
            "Stop it, or choose another port with FAIRBOARD_PORT."
        )


def _wait_until_ready(
    installation: Installation, server: subprocess.Popen[bytes], log: Path, waiting: Callable[[], None]
) -> None:
    next_report = time.monotonic() + REPORT_SECONDS
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if time.monotonic() >= next_report:
            waiting()
            next_report += REPORT_SECONDS
        if server.poll() is not None:
            raise ServiceFailed(f"`fairboard serve` ended with {server.returncode}.\n{last_lines(log)}")
        with contextlib.suppress(Unreachable):
            if installation.api().is_ready():
                return
        time.sleep(0.2)
    raise ServiceFailed(f"`fairboard serve` was not ready in {START_TIMEOUT_SECONDS} s.\n{last_lines(log)}")


def last_lines(log: Path) -> str:
    """Return the end of the service's log, for an error message."""
    lines = log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
    return f"The end of its log, {log}:\n" + "\n".join(lines)
