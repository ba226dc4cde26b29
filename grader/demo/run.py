"""`fairboard demo`: serves the demo competition until Ctrl-C."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import httpx

from grader import db
from grader.client import Client
from grader.demo.dataset import SUBMISSIONS, generate
from grader.errors import OrganizerError
from grader.services.identity import accounts, api_tokens
from grader.settings import PREFIX, Settings
from grader.worker.processes import end_with

SLUG = "demo"
FILES = Path(__file__).with_name("files")
ORGANIZER, NEWCOMER = "organizer", "newcomer"
NAMES = (ORGANIZER, NEWCOMER, *dict.fromkeys(file.team for file in SUBMISSIONS))
START_SECONDS, STOP_SECONDS, SCORING_SECONDS = 90, 60, 180
LOG_LINES_SHOWN = 30
QUIET = {f"{PREFIX}LOG_LEVEL": "warning"}  # an access log would hide the instructions

Say = Callable[[str], None]


class DemoFailed(OrganizerError):
    """The demo could not be completed."""

    public_name = "demo_failed"


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo competition of an installation."""

    settings: Settings
    say: Say

    @property
    def folder(self) -> Path:
        """The folder with the competition's files, the accounts and the log."""
        return self.settings.data_dir.absolute() / "demo"

    @property
    def log(self) -> Path:
        """The log of the service."""
        return self.folder / "serve.log"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of the service and of commands."""
        settings = self.settings
        address = {f"{PREFIX}HOST": settings.host, f"{PREFIX}PORT": str(settings.port)}
        return QUIET | os.environ | address | {f"{PREFIX}DATA_DIR": str(settings.data_dir.absolute())}

    def accounts(self) -> dict[str, dict[str, str]]:
        """Return the passwords and tokens by name; create the accounts at the first call."""
        path = self.folder / "accounts.json"
        if not path.exists():
            path.touch(mode=0o600)
            path.write_text(json.dumps(_make_accounts(self.settings), indent=1))
        credentials: dict[str, dict[str, str]] = json.loads(path.read_text())
        return credentials

    def client(self, name: str = ORGANIZER) -> Client:
        """Return a client for the competition with the token of an account."""
        # An explicit transport ignores the proxies in the environment.
        token, http = self.accounts()[name]["token"], httpx.HTTPTransport()
        return Client(self.settings.own_address(), token, competition=SLUG, http=http)

    def command(self, *arguments: str) -> str:
        """Run `fairboard …` and return its output; raise DemoFailed."""
        command = [sys.executable, "-P", "-m", "grader.cli", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise DemoFailed(f"`fairboard {' '.join(arguments[:3])} …` failed: {done.stderr.strip()}")
        return done.stdout

    def is_ready(self) -> bool:
        """Return whether the service is ready; raise httpx.TransportError if nothing listens."""
        address = f"{self.settings.own_address()}/readyz"
        return httpx.get(address, timeout=30, trust_env=False).status_code == 200


def serve(settings: Settings, say: Say) -> None:
    """Create the demo competition in the configured installation, and serve it until interrupted."""
    started_at, demo = time.monotonic(), Demo(settings, say)
    with contextlib.suppress(KeyboardInterrupt), serving(demo) as server:
        set_up(demo)
        link = demo.command("user", "login-link", NEWCOMER, "--next", f"/competitions/{SLUG}").strip()
        say(f"""
Ready after {time.monotonic() - started_at:.0f} s. Open this link to log in as {NEWCOMER} (it works once):

  {link}

The Data page has train.csv, test.csv and a script that creates a first submission from them. The passwords of
the administrator {ORGANIZER} and of the teams are in {demo.folder / "accounts.json"}; log in at
{settings.base_url or settings.own_address()}/login. The service runs until Ctrl-C, and `make demo` continues
with the same data.""")
        raise DemoFailed(f"`fairboard serve` exited with code {server.wait()}.\n{_last_lines(demo)}")


def set_up(demo: Demo) -> None:
    """Create the accounts and the competition, submit the files and wait for their scores, if necessary."""
    with demo.client() as client:
        states = {each.slug: each.state for each in client.competitions()}
    if states.get(SLUG, "draft") == "draft":
        demo.say("Creating the competition and checking its data files.")
        try:
            demo.command("competition", "create", str(demo.folder / "competition.toml"), "--publish")
        except DemoFailed as error:
            raise DemoFailed(
                f"{error.message}\nTo start again, delete the folder {demo.settings.data_dir}."
            ) from None
    demo.say(f"Submitting and scoring {len(SUBMISSIONS)} files.")
    sent = {}
    for file in SUBMISSIONS:
        with demo.client(file.team) as client:
            if file.description not in {each.description for each in client.submissions().submissions}:
                path = demo.folder / f"{file.name}.csv"
                sent[client.submit(path, description=file.description).id] = file
    for submission_id, file in sent.items():
        with demo.client(file.team) as client:
            result = client.wait(submission_id, timeout_seconds=SCORING_SECONDS)
        if result.status != "scored":
            raise DemoFailed(f"{file.name}.csv was {result.status}: {result.problems}")


@contextlib.contextmanager
def serving(demo: Demo) -> Iterator[subprocess.Popen[bytes]]:
    """Write the files, and run `fairboard serve` until the block or this process ends."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    with contextlib.suppress(httpx.TransportError):
        demo.is_ready()
        raise DemoFailed(
            f"Another service is running at {demo.settings.own_address()}. If it is a demo, stop it, or "
            f"choose another port with {PREFIX}PORT."
        )
    if not demo.log.exists():  # the log is written after the files
        demo.say("Generating the comments.")
        shutil.copytree(FILES, demo.folder, dirs_exist_ok=True)
        dataset = generate()
        dataset.write(demo.folder)
        for seed, file in enumerate(SUBMISSIONS):
            predictions = file.predictions(dataset.solution, seed=seed)
            predictions.to_csv(demo.folder / f"{file.name}.csv", index=False)
    demo.say(f"Starting the service on {demo.settings.own_address()}.")
    with demo.log.open("wb") as output:
        server = subprocess.Popen(
            [sys.executable, "-P", "-m", "grader.cli", "serve"],
            env=demo.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C must reach only the demo, which then stops the service cleanly.
            start_new_session=True,
            preexec_fn=partial(end_with, os.getpid()),
        )
    try:
        _wait_until_ready(demo, server)
        yield server
    finally:
        demo.say("Stopping the service.")
        server.terminate()
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _wait_until_ready(demo: Demo, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if demo.is_ready():
                return
        time.sleep(0.2)
    raise DemoFailed(f"`fairboard serve` did not start.\n{_last_lines(demo)}")


def _last_lines(demo: Demo) -> str:
    lines = demo.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
    return f"The end of its log, {demo.log}:\n" + "\n".join(lines)


def _make_accounts(settings: Settings) -> dict[str, dict[str, str]]:
    passwords, made = accounts.password_hasher(settings), {}
    database = db.Database(settings.database(), pool_size=1)
    for name in NAMES:
        with database.write() as session:
            now = db.now(session)
            password = accounts.new_password()
            account: dict[str, Any] = {"name": name, "password": password, "is_admin": name == ORGANIZER}
            user = accounts.sign_up(session, **account, passwords=passwords, now=now)
            _, token = api_tokens.create(session, user=user, name="demo", now=now)
        made[name] = {"password": password, "token": token}
    database.dispose()
    return made
