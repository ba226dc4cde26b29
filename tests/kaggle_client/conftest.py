"""The official kaggle command, as people run it, against the site's own server."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from grader.services.accounts import api_tokens
from grader.services.accounts.api_tokens import Scope
from tests.fixtures.arena import Arena, Person
from tests.fixtures.front_server import BOUNDS, Running
from tests.fixtures.patience import HANG_SECONDS


class ScoredAtOnce:
    """Hints that are followed before the answer is sent."""

    def __init__(self):
        self.arena: Arena | None = None

    def send(self, job_ids: Sequence[int]):
        assert self.arena is not None
        for job_id in job_ids:
            self.arena.scorer.run(job_id)

    def send_rescoring(self, scoring_version_id: int):
        """Do nothing: no test here rescores."""


@dataclass
class Told:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


@dataclass
class Desk:
    """A person at a terminal with the kaggle command, in a folder of their own."""

    url: str
    token: str
    folder: Path
    command: Sequence[str] = (sys.executable, "-m", "kaggle")
    more: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> Told:
        """Run `kaggle ARGUMENTS`; the variables are those that the page of the command says."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
            "KAGGLE_API_TOKEN": self.token,
            "http_proxy": self.url,
            "NO_PROXY": "",
            "no_proxy": "",
            **self.more,
        }
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )
        return Told(done.returncode, done.stdout, done.stderr)

    def join(self, slug: str):
        """Join a competition, which no command of Kaggle's can."""
        answer = requests.post(
            f"{self.url}/api/v1/competitions/{slug}/join",
            data={"accepted_rules_version": "1"},
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=HANG_SECONDS,
        )
        assert answer.ok, answer.text

    def ok(self, *arguments: str) -> str:
        """Run a command that must succeed, and return what it printed."""
        told = self.run(*arguments)
        assert told.code == 0, told
        return told.out

    def write(self, name: str, content: bytes) -> str:
        """Write a file into the folder, and return its name."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return name


@dataclass
class Hall:
    """A site that really listens, and people who sit before it."""

    arena: Arena
    url: str
    folder: Path

    def desk(self, name: str, *, is_admin: bool = False, scopes=None) -> Desk:
        """Give somebody an account, a token with all scopes, and a folder."""
        person = self.arena.person(name, is_admin=is_admin)
        return self.desk_of(person, name, scopes=scopes)

    def desk_of(self, person: Person, name: str, *, scopes=None) -> Desk:
        with self.arena.database.write() as session:
            _, token = api_tokens.create(
                session, user=person.user, name="kaggle", now=self.arena.now(), scopes=scopes or tuple(Scope)
            )
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return Desk(self.url, token, folder)


@contextmanager
def open_hall(folder: Path, migrated_sqlite: Path, **settings) -> Iterator[Hall]:
    """Open a site with its own server."""
    site = folder / "site"
    site.mkdir()
    arena = Arena(site, migrated_sqlite, **settings)
    hints = ScoredAtOnce()
    hints.arena = arena
    object.__setattr__(arena.app.extensions["fairboard"], "hints", hints)
    proxies = arena.settings.trusted_proxies
    running = Running(arena.app, BOUNDS, threads=4, trusted_proxies=proxies)
    host, port = running.address[:2]
    yield Hall(arena, f"http://{host}:{port}", folder)
    running.close()
    arena.close()


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Hall]:
    """A site with its own server, for all tests of a module."""
    with open_hall(tmp_path_factory.mktemp("hall"), migrated_sqlite) as hall:
        yield hall
