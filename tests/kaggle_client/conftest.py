"""Fixtures for running the official kaggle command on a site with its own server."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from grader.services.identity import api_tokens
from grader.services.identity.api_tokens import Scope
from tests.fixtures.arena import Arena
from tests.fixtures.front_server import BOUNDS, Running
from tests.fixtures.patience import HANG_SECONDS


class ScoredAtOnce:
    """Scores hinted submissions before the response is sent."""

    def __init__(self):
        self.arena: Arena | None = None

    def send(self, job_ids: Sequence[int]):
        assert self.arena is not None
        for job_id in job_ids:
            self.arena.scorer.run(job_id)


@dataclass
class Desk:
    """An API user with the kaggle command and their own working folder."""

    url: str
    token: str
    folder: Path
    command: Sequence[str] = (sys.executable, "-m", "kaggle")
    more: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `kaggle ARGUMENTS` with the environment variables given on the site's kaggle page."""
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
        return subprocess.run(
            [*self.command, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )

    def join(self, slug: str):
        """Join a competition through Fairboard's API, because the kaggle command cannot."""
        answer = requests.post(
            f"{self.url}/api/v1/competitions/{slug}/join",
            data={"accepted_rules_version": "1"},
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=HANG_SECONDS,
        )
        assert answer.ok, answer.text

    def ok(self, *arguments: str) -> str:
        """Run a command that must succeed and return its output."""
        told = self.run(*arguments)
        assert told.returncode == 0, told
        return told.stdout

    def write(self, name: str, content: bytes) -> str:
        """Write a file to the folder and return its name."""
        (self.folder / name).write_bytes(content)
        return name


@dataclass
class Hall:
    """A running test site for the kaggle command, and its users."""

    arena: Arena
    url: str
    folder: Path

    def desk(self, name: str, *, scopes=None) -> Desk:
        """Create a user with an account, a token (all scopes by default) and a folder."""
        person = self.arena.person(name)
        with self.arena.database.write() as session:
            _, token = api_tokens.create(
                session, user=person.user, name="kaggle", now=self.arena.now(), scopes=scopes or tuple(Scope)
            )
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return Desk(self.url, token, folder)


@contextmanager
def open_hall(folder: Path, migrated_sqlite: Path, **settings) -> Iterator[Hall]:
    """Start a test site with its own server."""
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
def hall(tmp_path_factory, migrated_sqlite):
    """A test site with its own server, shared by all tests of a module."""
    with open_hall(tmp_path_factory.mktemp("hall"), migrated_sqlite) as hall:
        yield hall
