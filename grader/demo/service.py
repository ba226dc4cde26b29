"""Service and commands of the demo, run in separate processes."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from grader.client import Client
from grader.errors import OrganizerError

SLUG = "demo"
START_TIMEOUT_SECONDS = 90
STOP_TIMEOUT_SECONDS = 60
LOG_LINES_SHOWN = 30


class CommandFailed(OrganizerError):
    """A `fairboard` command of the demo failed."""

    public_name = "command_failed"


class ServiceFailed(OrganizerError):
    """`fairboard serve` did not start or exited early."""

    public_name = "service_failed"


@dataclass(frozen=True, slots=True)
class DemoInstallation:
    """The address of a service, and the environment of the service and the commands."""

    host: str
    port: int
    environment: Mapping[str, str]

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        return f"http://{self.host}:{self.port}"

    def client(self, token: str | None = None) -> Client:
        """Return a client for the demo competition, for the owner of `token` or for a visitor."""
        # An explicit transport ignores the proxies in the environment.
        return Client(self.address, token, competition=SLUG, http=httpx.HTTPTransport())

    def is_ready(self) -> bool:
        """Return whether the service is ready; raise httpx.TransportError if it does not respond."""
        return httpx.get(f"{self.address}/readyz", timeout=30, trust_env=False).status_code == 200

    def command(self, *arguments: str) -> str:
        """Run `fairboard …` and return its output; raise CommandFailed with its error output."""
        return self._run("fairboard", "grader.cli", *arguments)

    def make_accounts(self, administrator: str, *names: str) -> list[dict[str, str]]:
        """Create accounts with API tokens; return `name`, `token` and, for a new account, `password`."""
        module = "grader.demo.accounts"
        made: list[dict[str, str]] = json.loads(self._run(module, module, administrator, *names))
        return made

    def _run(self, name: str, module: str, *arguments: str) -> str:
        command = [sys.executable, "-P", "-m", module, *arguments]
        done = subprocess.run(command, env=dict(self.environment), capture_output=True, text=True)
        if done.returncode != 0:
            raise CommandFailed(
                f"`{name} {' '.join(arguments[:3])} …` exited with code {done.returncode}: "
                f"{done.stderr.strip()}"
            )
        return done.stdout


@contextlib.contextmanager
def serving(installation: DemoInstallation, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run `fairboard serve` until the block or this process ends; wait until it is ready."""
    _refuse_taken_address(installation)
    with log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.cli", "serve"],
            env=dict(installation.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C must reach only the demo, which then stops the service cleanly.
            start_new_session=True,
        )
    guardian = subprocess.Popen(
        [sys.executable, "-m", "grader.demo.guardian", str(server.pid)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _wait_until_ready(installation, server, log)
        yield server
    finally:
        server.terminate()
        try:
            server.wait(STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        guardian.communicate()


def _refuse_taken_address(installation: DemoInstallation) -> None:
    with contextlib.suppress(httpx.TransportError):
        installation.is_ready()
        raise ServiceFailed(
            f"Another service is already running at {installation.address}. If it is a demo, stop it, or "
            "choose another port with FAIRBOARD_PORT."
        )


def _wait_until_ready(installation: DemoInstallation, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise ServiceFailed(f"`fairboard serve` exited with code {server.returncode}.\n{last_lines(log)}")
        with contextlib.suppress(httpx.TransportError):
            if installation.is_ready():
                return
        time.sleep(0.2)
    raise ServiceFailed(f"`fairboard serve` was not ready in {START_TIMEOUT_SECONDS} s.\n{last_lines(log)}")


def last_lines(log: Path) -> str:
    """Return the last lines of the service's log for an error message."""
    lines = log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
    return f"The end of its log, {log}:\n" + "\n".join(lines)
