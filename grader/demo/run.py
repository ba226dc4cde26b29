"""`fairboard demo`: serves the demo competition until Ctrl-C, or checks it and exits."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import NoReturn

import httpx

from grader import db
from grader.client import Client, Refused
from grader.client.records import Leaderboard
from grader.demo import oracle
from grader.demo.dataset import SUBMISSIONS, GeneratedFile, generate
from grader.demo.oracle import Line
from grader.errors import OrganizerError
from grader.services.identity import accounts, api_tokens
from grader.settings import PREFIX, Settings, load
from grader.worker.process.limits import end_with

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
class Account:
    """An account of the demo."""

    password: str
    token: str


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo competition of an installation."""

    settings: Settings
    say: Say

    @property
    def address(self) -> str:
        """The address of the service on this machine."""
        host = self.settings.host
        return f"http://{'127.0.0.1' if host in ('0.0.0.0', '::') else host}:{self.settings.port}"  # noqa: S104

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

    def predictions(self, file: GeneratedFile) -> Path:
        """Return the path of a submission file."""
        return self.folder / f"{file.name}.csv"

    def accounts(self) -> dict[str, Account]:
        """Return the accounts by name; create them at the first call."""
        path = self.folder / "accounts.json"
        if not path.exists():
            path.touch(mode=0o600)
            made = _make_accounts(self.settings)
            path.write_text(json.dumps({name: asdict(each) for name, each in made.items()}, indent=1))
        return {name: Account(**each) for name, each in json.loads(path.read_text()).items()}

    def client(self, token: str | None = None) -> Client:
        """Return a client for the competition, for the owner of `token` or for a visitor."""
        # An explicit transport ignores the proxies in the environment.
        return Client(self.address, token, competition=SLUG, http=httpx.HTTPTransport())

    def command(self, *arguments: str) -> str:
        """Run `fairboard …` and return its output; raise DemoFailed."""
        command = [sys.executable, "-P", "-m", "grader.cli", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode:
            raise DemoFailed(f"`fairboard {' '.join(arguments[:3])} …` failed: {done.stderr.strip()}")
        return done.stdout

    def is_ready(self) -> bool:
        """Return whether the service is ready; raise httpx.TransportError if nothing listens."""
        return httpx.get(f"{self.address}/readyz", timeout=30, trust_env=False).status_code == 200


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
{settings.base_url or demo.address}/login. The service runs until Ctrl-C, and `make demo` continues with the
same data.""")
        raise DemoFailed(f"`fairboard serve` exited with code {server.wait()}.\n{_last_lines(demo)}")


def run_check(say: Say) -> list[str]:
    """Run the demo in a temporary folder on a free port; return a message for each difference."""
    with tempfile.TemporaryDirectory(prefix="fairboard-demo-") as folder:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        # The check must not use the settings of this machine's own installation.
        for name in [name for name in os.environ if name.startswith(PREFIX)]:
            del os.environ[name]
        demo = Demo(load(data_dir=Path(folder), port=port), say)
        with serving(demo):
            set_up(demo)
            wrong = check(demo)
    if not wrong:
        say("All leaderboards agree with the independent computation, before and after the rescoring.")
    return wrong


def set_up(demo: Demo) -> None:
    """Create the accounts and the competition, submit the files and wait for their scores, if necessary."""
    tokens = {name: each.token for name, each in demo.accounts().items()}
    if not _is_published(demo):
        demo.say("Creating the competition and checking its data files.")
        try:
            demo.command("competition", "create", str(demo.folder / "competition.toml"), "--publish")
        except DemoFailed as error:
            raise DemoFailed(
                f"{error.message}\nTo start again, delete the folder {demo.settings.data_dir}."
            ) from None
    demo.say(f"Submitting and scoring {len(SUBMISSIONS)} files.")
    sent = []
    for file in SUBMISSIONS:
        with demo.client(tokens[file.team]) as client:
            if file.description not in {each.description for each in client.submissions().submissions}:
                path = demo.predictions(file)
                sent.append((file, client.submit(path, description=file.description).id))
    for file, submission_id in sent:
        with demo.client(tokens[file.team]) as client:
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
            f"Another service is running at {demo.address}. If it is a demo, stop it, or choose another port "
            f"with {PREFIX}PORT."
        )
    _write_files(demo)
    demo.say(f"Starting the service on {demo.address}.")
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


def _write_files(demo: Demo) -> None:
    if demo.log.exists():  # the log is written after the files
        return
    demo.say("Generating the comments.")
    shutil.copytree(FILES, demo.folder, dirs_exist_ok=True)
    dataset = generate()
    dataset.write(demo.folder)
    for seed, file in enumerate(SUBMISSIONS):
        predictions = file.predictions(dataset.solution, seed=seed)
        predictions.to_csv(demo.predictions(file), index=False)


def _wait_until_ready(demo: Demo, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(httpx.TransportError):
            if demo.is_ready():
                return
        time.sleep(0.2)
    raise DemoFailed(f"`fairboard serve` did not start.\n{_last_lines(demo)}")


def _is_published(demo: Demo) -> bool:
    with demo.client() as visitor:
        try:
            visitor.pages()
        except Refused:
            return False
    return True


def _make_accounts(settings: Settings) -> dict[str, Account]:
    passwords = accounts.password_hasher(settings)
    database = db.Database.of(settings, pool_size=1)
    made = {}
    for name in NAMES:
        with database.write() as session:
            now = db.now(session)
            user, password = accounts.create_user(
                session, name=name, passwords=passwords, is_admin=name == ORGANIZER, now=now
            )
            _, token = api_tokens.create(session, user=user, name="demo", now=now)
        made[name] = Account(password, token)
    database.dispose()
    return made


def _last_lines(demo: Demo) -> str:
    lines = demo.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
    return f"The end of its log, {demo.log}:\n" + "\n".join(lines)


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


REASON = "200 labels were corrected, and 25 rows were withdrawn."


def check(demo: Demo) -> list[str]:
    """Check both leaderboards before and after a rescoring; return a message for each difference."""
    sent = [(file.team, demo.predictions(file)) for file in SUBMISSIONS]
    corrected = demo.folder / "corrected_solution.csv"
    expected = oracle.leaderboards(demo.folder / "solution.csv", sent)
    with demo.client(demo.accounts()[ORGANIZER].token) as client:
        wrong = _compare(demo, client, "public", expected) + _private_is_hidden(client)
        demo.command("competition", "reveal", SLUG, "--yes")
        wrong += _compare(demo, client, "private", expected)
        demo.say("\nRescoring with the corrected solution.")
        demo.command("rescore", SLUG, str(corrected), "--reason", REASON, "--yes")
        expected = oracle.leaderboards(corrected, sent)
        wrong += _compare(demo, client, "public", expected)
        wrong += _compare(demo, client, "private", expected)
    return wrong


def _compare(
    demo: Demo, client: Client, split: oracle.Split, expected: dict[oracle.Split, list[Line]]
) -> list[str]:
    """Print a leaderboard and return its differences from the independent computation."""
    board = client.leaderboard(split=split)
    title = f"{split} leaderboard, scoring version {board.scoring_version}"
    demo.say(f"\nThe {title}:\n{'rank':>4}  {'team':9} {'score':>8}  overall subgroup     BPSN     BNSP")
    for line in shown(board):
        demo.say(f"{line.rank:4}  {line.team:9} {line.score:8} " + " ".join(f"{each:8}" for each in line[3:]))
    wrong = disagreements(board, expected[split])
    verb = "does not match" if wrong else "matches"
    demo.say(f"It {verb} the independent computation in every number and rank.")
    return [f"{title.capitalize()}: {sentence}" for sentence in wrong]


def shown(board: Leaderboard) -> list[Line]:
    """Return the teams' rows of a leaderboard, without benchmarks."""
    rows = [(each, each.terms or {}) for each in board.rows if each.rank is not None]
    return [
        Line(each.rank or 0, each.team, *(Decimal(str(value)) for value in (each.score, *terms.values())))
        for each, terms in rows
    ]


def disagreements(board: Leaderboard, expected: list[Line]) -> list[str]:
    """Return all differences between a leaderboard and its expected rows, as displayed."""
    pairs = zip_longest(shown(board), expected)
    return [f"{found} should be {right}." for found, right in pairs if found != right]


def _private_is_hidden(client: Client) -> list[str]:
    try:
        client.leaderboard(split="private")
    except Refused:
        return []
    return ["The private leaderboard is shown before the reveal."]
