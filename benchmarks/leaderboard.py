"""Benchmark of a large competition's leaderboards against a Flask hello-world page.

Run ``python benchmarks/leaderboard.py`` for SQLite in a temporary folder, or with ``--database URL`` for an
empty PostgreSQL database. It creates 10,000 teams and 130,000 scored submissions, and then requests pages
from the application without a network, so that only the server's time is measured. The standings are written
by the service that handles team mergers.
"""

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event, select

from grader.db import Database
from grader.files import read_solution
from grader.maintenance import schema
from grader.models import DailyRank
from grader.services.audit.log import Actor
from grader.services.solutions import intake
from grader.settings import Settings
from grader.storage.stores import open_storage
from tests.fixtures import crowds
from tests.fixtures.competitions import publish_competition
from webapp.app import create_app

TEAMS = 10_000
SUBMISSIONS = 130_000
REPEATS = 60
TARGET_MS = 30
BOARD = "/competitions/large/leaderboard"
PAGES = (
    ("the first page, with its chart", BOARD),
    ("a page in the middle", f"{BOARD}?page=100"),
    ("a search", f"{BOARD}?q=team 77"),
    ("sorted by a term", f"{BOARD}?sort=bpsn_auc"),
    ("sorted by entries", f"{BOARD}?sort=entries"),
    ("the API's first page", f"/api/v1{BOARD}"),
    ("CSV of all teams", f"{BOARD}.csv"),
)


class NoHints:
    """A replacement for `Hints`, because there are no submissions to score."""

    def send(self, job_ids: Any) -> None:
        """Do nothing."""

    def send_rescoring(self, scoring_version_id: int) -> None:
        """Do nothing."""


def solution_csv() -> bytes:
    dice = random.Random(1)
    lines = ["id,toxicity,female,Usage"]
    for row in range(400):
        label, female = int(dice.random() < 0.5), int(dice.random() < 0.5)
        lines.append(f"r{row},{label},{female},{('Public', 'Private')[row % 2]}")
    return "\n".join(lines).encode()


def fill(database: Database, settings: Settings) -> None:
    """Create the competition and its rows, with random scores."""
    now = datetime.now(UTC)
    start = now - timedelta(days=60)
    stored = intake.store(open_storage(settings.storage()), read_solution(solution_csv()), split_key=b"key")
    with database.write() as session:
        competition = publish_competition(
            session,
            slug="large",
            title="Large",
            solution=stored,
            opens_at=start,
            actor=Actor(None, "benchmark"),
            now=start,
        )
        crowds.fill(session, competition=competition, teams=TEAMS, files=SUBMISSIONS, start=start, end=now)
        assert session.scalar(select(DailyRank.id).limit(1))


def hello() -> FlaskClient:
    app = Flask("hello")
    app.add_url_rule("/", "hello", lambda: "Hello, world!")
    return app.test_client()


def milliseconds(ask: Callable[[], Any]) -> float:
    """Return the median time of a complete response."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        answer = ask()
        answer.get_data()
        times.append(time.perf_counter() - begin)
        assert answer.status_code == 200, answer.status
    return 1000 * statistics.median(times)


def queries(database: Database, ask: Callable[[], Any]) -> int:
    asked: list[str] = []

    def note(*details: Any) -> None:
        asked.append(details[2])

    event.listen(database.engine, "before_cursor_execute", note)
    ask()
    event.remove(database.engine, "before_cursor_execute", note)
    return sum(statement.lstrip().upper().startswith(("SELECT", "WITH")) for statement in asked)


def measure(settings: Settings) -> None:
    database = Database(settings.database(), pool_size=4)
    schema.upgrade(database)
    begin = time.perf_counter()
    fill(database, settings)
    kind = database.engine.dialect.name
    print(f"{TEAMS:,} teams, {SUBMISSIONS:,} submissions on {kind}, took {time.perf_counter() - begin:.0f} s")
    client = create_app(settings, database=database, hints=NoHints()).test_client()
    hello_client = hello()
    reference = milliseconds(lambda: hello_client.get("/"))
    print(f"{'':<34}{'median':>11}{'to hello':>10}{'queries':>9}")
    print(f"{'Flask hello-world':<34}{reference:>8.2f} ms{'1x':>10}{0:>9}")
    for name, path in PAGES:
        ask = lambda path=path: client.get(path)  # noqa: E731
        ask()
        count = queries(database, ask)
        taken = milliseconds(ask)
        print(f"{name:<34}{taken:>8.2f} ms{taken / reference:>9.0f}x{count:>9}")
        if path == BOARD and taken > TARGET_MS:
            print(f"{'':<34}above the target of {TARGET_MS} ms")
    database.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", help="URL of an empty PostgreSQL database. Default: SQLite.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options = {"database_url": arguments.database} if arguments.database else {}
        measure(Settings(data_dir=Path(folder), secret_key="benchmark", rate_limits=False, **options))


if __name__ == "__main__":
    main()
