"""A whole site in a folder, for the tests of pages, API, security and browser: nothing in it is a stand-in."""

import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from grader import db
from grader.db import Database
from grader.files import read_solution
from grader.models import Competition, User
from grader.services import accounts, competitions, schema, scoring, solutions
from grader.settings import Settings
from grader.storage import Storage, open_storage
from grader.worker.scoring import Scorer
from webapp import create_app

ROWS = 400
IDENTITIES = ("male", "female", "black or african")
PASSWORD = "correct horse battery"


@dataclass
class Hinted:
    """Where the web's hints go; `Arena.score_all` follows them."""

    job_ids: list[int] = field(default_factory=list)

    def send(self, job_ids: Sequence[int]) -> None:
        self.job_ids += job_ids


@dataclass
class Person:
    """Somebody with an account, a browser that is logged in, and an API token."""

    user: User
    browser: FlaskClient
    token: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def post(self, path: str, data: dict[str, Any] | None = None, **options: Any) -> TestResponse:
        """Send a form of a page, with the form token that the account page gives out."""
        token = form_token(self.browser, "/account")
        return self.browser.post(path, data={"csrf_token": token, **(data or {})}, **options)


class Arena:
    """A site with its database, storage, application and scorer."""

    def __init__(self, folder: Path, empty_database: Path, **overrides: Any) -> None:
        options = {
            "data_dir": folder,
            "password_hash_memory_kib": 8,
            "password_hash_rounds": 1,
            "rate_limits": False,
            "secret_key": "the tests' key",
            **overrides,
        }
        self.settings = Settings(**options)
        shutil.copy(empty_database, folder / "fairboard.db")
        self.database = Database(self.settings.database(), pool_size=8)
        self.storage: Storage = open_storage(self.settings.storage())
        self.hints = Hinted()
        self.app: Flask = create_app(
            self.settings, database=self.database, storage=self.storage, hints=self.hints
        )
        self.scorer = Scorer(self.database, self.storage, lease=timedelta(seconds=40))
        self.truth = _Truth()

    def competition(
        self,
        slug: str = "toxicity",
        *,
        title: str = "Toxicity",
        overview: str = "",
        opens_at: datetime | None = None,
        closes_at: datetime | None = None,
    ) -> Competition:
        """Make a competition on the arena's truth."""
        solution = read_solution(self.truth.solution(), label="toxicity", identities=IDENTITIES)
        stored = solutions.store(self.storage, solution, split_key=b"key", identities=IDENTITIES)
        with self.database.write() as session:
            return competitions.create(
                session,
                slug=slug,
                title=title,
                overview=overview,
                solution=stored,
                opens_at=opens_at,
                closes_at=closes_at,
                created_by="tests",
                now=self.now(),
            )

    def now(self) -> datetime:
        with self.database.read() as session:
            return db.now(session)

    def person(self, name: str) -> Person:
        """Make an account and log it in through the page."""
        with self.database.write() as session:
            user = accounts.sign_up(
                session,
                name=name,
                password=PASSWORD,
                passwords=self.app.extensions["fairboard"].passwords,
                now=self.now(),
            )
            _, token = accounts.create_token(session, user=user, name="tests", now=self.now())
        browser = self.app.test_client()
        answer = log_in(browser, name)
        assert answer.status_code == 302, answer.text
        return Person(user, browser, token)

    def submit(self, person: Person, file: bytes, slug: str = "toxicity", **fields: Any) -> int:
        """Send a file through the API and return the submission's id."""
        import io

        answer = self.app.test_client().post(
            f"/api/v1/competitions/{slug}/submissions",
            data={"file": (io.BytesIO(file), "predictions.csv"), **fields},
            headers=person.bearer,
        )
        assert answer.status_code == 201, answer.text
        return int(answer.json["id"])

    def score_all(self) -> None:
        """Do what workers do until no job waits."""
        while True:
            with self.database.read() as session:
                waiting = scoring.waiting(session, older_than=timedelta(), limit=100, now=db.now(session))
            if not waiting:
                return
            for job_id in waiting:
                self.scorer.run(job_id)

    def reveal(self, slug: str = "toxicity") -> None:
        """Open the private leaderboard."""
        with self.database.write() as session:
            competitions.reveal(session, competition=competitions.get(session, slug=slug))

    def close(self) -> None:
        self.database.dispose()


class _Truth:
    """The rows of the hidden solution, and files that predict them more or less well."""

    def __init__(self) -> None:
        dice = random.Random(20190626)
        self.rows = [
            (7_000_000 + place, dice.random() < 0.4, [dice.random() < 0.35 for _ in IDENTITIES])
            for place in range(ROWS)
        ]

    def solution(self) -> bytes:
        lines = ["id,toxicity," + ",".join(IDENTITIES) + ",Usage"]
        for place, (row_id, label, mentions) in enumerate(self.rows):
            usage = "Public" if place % 2 else "Private"
            lines.append(",".join([str(row_id), str(int(label)), *(str(int(m)) for m in mentions), usage]))
        return "\n".join(lines).encode() + b"\n"

    def predictions(self, *, noise: float = 1.0, seed: int = 1) -> bytes:
        """Return a file whose predictions are the labels and noise."""
        dice = random.Random(seed)
        lines = [f"{row_id},{label + noise * dice.random():.6f}" for row_id, label, _ in self.rows]
        return "\n".join(["id,prediction", *lines]).encode() + b"\n"


def form_token(browser: FlaskClient, path: str) -> str:
    """Return the form token of a page."""
    found = re.search(r'name="csrf_token" value="([^"]+)"', browser.get(path).text)
    assert found, f"{path} holds no form"
    return found[1]


def log_in(browser: FlaskClient, name: str, password: str = PASSWORD, **query: str) -> TestResponse:
    """Log in through the page."""
    token = form_token(browser, "/login")
    form = {"csrf_token": token, "name": name, "password": password}
    return browser.post("/login", data=form, query_string=query)


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables and no rows."""
    path = tmp_path_factory.mktemp("empty") / "fairboard.db"
    database = Database(f"sqlite:///{path}", pool_size=1)
    schema.upgrade(database)
    database.dispose()
    return path


@pytest.fixture
def make_arena(tmp_path: Path, empty_database: Path) -> Iterator[Callable[..., Arena]]:
    """A factory of arenas, which end with the test."""
    arenas: list[Arena] = []

    def make(**overrides: Any) -> Arena:
        folder = tmp_path / f"arena{len(arenas)}"
        folder.mkdir()
        arenas.append(Arena(folder, empty_database, **overrides))
        return arenas[-1]

    yield make
    for arena in arenas:
        arena.close()


@pytest.fixture
def arena(make_arena: Callable[..., Arena]) -> Arena:
    """A site without competitions or people."""
    return make_arena()
