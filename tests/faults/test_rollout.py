"""Release rollout under traffic: migrations, process replacement, client retries."""

import io
import os
import socket
import subprocess
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil
import pytest
from pydantic import SecretStr
from sqlalchemy import select

from grader.db import Database
from grader.maintenance import schema
from grader.models import JobState, Score, ScoringJob, Submission
from grader.settings import Settings
from grader.worker import broker
from tests.fixtures.patience import HANG_SECONDS, eventually
from tests.fixtures.web import BOUNDARY, form

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
THREADS = 3
# The last commit with schema 0025. Replace it with the previous release after each release.
PREVIOUS_RELEASE, PREVIOUS_SCHEMA = "663671384054f089568b5f827f32ef4a1d59a148", "0025"
ROOT = Path(__file__).parents[2]
# Each process appends the location of its code to this file.
MARK = "import os; print(__file__, file=open(os.environ['FAIRBOARD_TEST_MARK'], 'a'))\n"
# Typical changes in a new release: columns and an index in tables to which every upload writes.
NEXT_RELEASE = """
import sqlalchemy as sa
from alembic import op

revision, down_revision = "9001", "{head}"


def upgrade():
    op.add_column("submission", sa.Column("colour", sa.String(20), nullable=True))
    op.add_column("scoring_job", sa.Column("host", sa.String(20), nullable=False, server_default=""))
    op.create_index("ix_submission_colour", "submission", ["colour"])


def downgrade():
    op.drop_index("ix_submission_colour", "submission")
    with op.batch_alter_table("scoring_job") as table:
        table.drop_column("host")
    with op.batch_alter_table("submission") as table:
        table.drop_column("colour")
"""


@pytest.fixture
def settings(make_settings: Callable[..., Settings]) -> Settings:
    return make_settings(web_workers=1, web_threads=8, disk_reserve_mb=0)


@pytest.fixture
def with_next_release(service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add one more migration to this process only, as the next release would.

    The migration is reverted afterwards because other tests use the same PostgreSQL database.
    """
    before = schema.head()
    folder = tmp_path / "next"
    folder.mkdir()
    (folder / "9001_next.py").write_text(NEXT_RELEASE.format(head=schema.head()))
    make = schema._config

    def config(connection):
        known = make(connection)
        versions = os.pathsep.join([f"{known.get_main_option('script_location')}/versions", str(folder)])
        known.set_main_option("path_separator", "os")
        known.set_main_option("version_locations", versions)
        return known

    monkeypatch.setattr(schema, "_config", config)
    yield
    if schema.current(service.database) != before:
        schema.downgrade(service.database, before)


@dataclass
class Traffic:
    """Uploads and reads continuously until the block ends; failures are recorded."""

    web: Any
    tokens: list[str]
    predictions_csv: Any
    sent: dict[int, bytes] = field(default_factory=dict)
    broken: list[Any] = field(default_factory=list)
    lost_connections: int = 0
    pause_seconds: float = 0

    def __post_init__(self):
        self._stop = threading.Event()

    def __enter__(self) -> "Traffic":
        self._pool = ThreadPoolExecutor(THREADS)
        self._running = [self._pool.submit(self._run, number) for number in range(THREADS)]
        return self

    def __exit__(self, *_: object):
        self._stop.set()
        self._pool.shutdown()
        for each in self._running:
            each.result()

    def wait_for_more(self, count: int = THREADS):
        """Wait until this many more files are accepted."""
        before = len(self.sent)
        eventually(lambda: len(self.sent) >= before + count, lambda: f"more files ({self.broken})")

    def _run(self, number: int):
        caller = self.web.caller(self.tokens[number % len(self.tokens)])
        for each in range(100_000):
            if self._stop.wait(self.pause_seconds):
                return
            content = self.predictions_csv(seed=100_000 * number + each)
            answer = self._ask(caller.send, content, key=f"{number} {each}")
            if answer.status in (200, 201):
                self.sent[answer.data["id"]] = content
            else:
                self.broken.append(answer)
            board = self._ask(caller.get, "/api/v1/competitions/toxicity/leaderboard")
            if board.status != 200:
                self.broken.append(board)

    def _ask(self, request: Callable[..., Any], *arguments, **options):
        """Send a request; if the connection is lost before the response, retry over a new one."""
        try:
            return request(*arguments, **options)
        except ConnectionError:
            self.lost_connections += 1
            return request(*arguments, **options)


@pytest.fixture
def traffic(service, web, make_token, predictions_csv) -> Traffic:
    service.competition(max_pending_submissions=100_000)
    return Traffic(web, [make_token(name) for name in ("ada", "bob")], predictions_csv)


@pytest.fixture
def nothing_is_lost(service, traffic: Traffic, check_invariants) -> Callable[[], None]:
    """A function that scores everything and compares it with the acknowledged files."""

    def check():
        with service.database.read() as session:
            waiting = session.scalars(select(ScoringJob.id).where(ScoringJob.finished_at.is_(None))).all()
        service.run(*waiting)
        acknowledged = {key: sha256(content).hexdigest() for key, content in traffic.sent.items()}
        check_invariants(service.database, service.storage, acknowledged=acknowledged)

    return check


def test_migration_under_traffic_and_a_long_query_is_invisible_to_users(
    service,
    web,
    traffic: Traffic,
    with_next_release: None,
    nothing_is_lost: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(schema, "LOCK_TIMEOUT_SECONDS", 1)
    monkeypatch.setattr(schema, "PAUSE_SECONDS", 0.3)
    before = schema.current(service.database)
    web.start()
    migrating = Database(service.settings.database())
    with traffic:
        traffic.wait_for_more()
        for target in ("9001", before, "9001"):
            change = schema.upgrade if target == "9001" else schema.downgrade
            with _long_query(service.database, seconds=1.5):
                change(migrating, target)
            traffic.wait_for_more()
            # The previous release runs on the newer tables.
            assert web.caller().get("/readyz").status == 200
    migrating.dispose()
    assert (traffic.broken, traffic.lost_connections) == ([], 0)
    assert schema.current(service.database) == "9001"
    nothing_is_lost()


class GivenSettings(Settings):
    """Settings of which another release receives only those that are set, because it may not know all."""

    def environment(self) -> dict[str, str]:
        names = {f"FAIRBOARD_{name.upper()}" for name in self.model_fields_set}
        return {name: value for name, value in super().environment().items() if name in names}


@pytest.fixture(scope="session")
def previous_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the code of the previous release, from the repository's history."""
    git = ["git", "-C", str(ROOT)]
    archive = subprocess.run([*git, "archive", PREVIOUS_RELEASE], capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"The history does not contain {PREVIOUS_RELEASE}. Run: git fetch --unshallow")
    folder = tmp_path_factory.mktemp("previous")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    with (folder / "grader" / "__init__.py").open("a") as file:
        file.write(MARK)
    return folder


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.long
def test_upgrade_and_downgrade_under_traffic_lose_nothing_and_change_no_score(
    service,
    make_settings: Callable[..., Settings],
    make_web,
    traffic: Traffic,
    processes,
    previous_release: Path,
    nothing_is_lost: Callable[[], None],
    make_token,
    predictions_csv,
    tmp_path: Path,
):
    given = {"web_workers": 1, "web_threads": 8, "disk_reserve_mb": 0, "rank_cache_mb": 0}
    sweeping = {"sweep_interval_seconds": 0.2, "sweep_after_seconds": 0}
    settings = GivenSettings(**make_settings(**given, **sweeping).model_dump(exclude_unset=True))
    traffic.web = web = make_web(settings)
    traffic.pause_seconds = 0.3  # the sweeper scores all files in order
    tokens = [make_token(name) for name in ("eve", "fay", "gus")]
    mark = tmp_path / "mark"
    probes: list[int] = []

    def start(code: Path) -> tuple[Any, Any]:
        environment = {"PYTHONPATH": str(code), "FAIRBOARD_TEST_MARK": str(mark)}
        sweep = "from grader.settings import load; from grader.worker import sweeper\n"
        sweep += "sweeper.sweep_until_told_to_stop(load())"
        sweeper = processes.python(settings, "-P", "-c", sweep, environment=environment)
        return web.start(**environment), sweeper

    def replace(old: tuple[Any, Any] | None, code: Path) -> tuple[Any, Any]:
        """Start a release next to the other one, which then ends; then score a file with it."""
        started = start(code)
        if old is not None:
            web.stop(old[0])
            old[1].terminate()
            assert old[1].wait(HANG_SECONDS) == 0
        caller = web.caller(tokens[len(probes)])
        probes.append(caller.send(predictions_csv(seed=999_999)).data["id"])
        path = f"/api/v1/submissions/{probes[-1]}"
        eventually(lambda: caller.get(path).data["status"] == "scored", "the score")
        return started

    schema.downgrade(service.database, PREVIOUS_SCHEMA)
    previous = replace(None, previous_release)
    locations = {Path(line).parents[1] for line in mark.read_text().splitlines()}
    assert locations == {previous_release}
    migrating = Database(settings.database())
    with traffic:
        traffic.wait_for_more()
        schema.upgrade(migrating)
        traffic.wait_for_more()
        assert web.caller().get("/readyz").status == 200
        current = replace(previous, ROOT)
        traffic.wait_for_more()
        _, sweeper = replace(current, previous_release)  # the previous release on the newer tables
        traffic.wait_for_more()
        assert web.caller().get("/readyz").status == 200
    migrating.dispose()
    sweeper.terminate()
    assert sweeper.wait(HANG_SECONDS) == 0
    assert traffic.broken == []
    with service.database.read() as session:
        columns = [
            each for each in Score.__table__.c if each.name not in ("id", "submission_id", "created_at")
        ]
        query = select(*columns).order_by(Score.split)
        scores = [session.execute(query.where(Score.submission_id == each)).all() for each in probes]
    assert scores[0] and all(each == scores[0] for each in scores)
    nothing_is_lost()


# SQLite has one lock: a migration waits for it like every other writer.
@on_postgresql
def test_migration_leaves_a_table_unchanged_that_is_locked_too_long(
    service, with_next_release: None, monkeypatch: pytest.MonkeyPatch
):
    for name, value in (("LOCK_TIMEOUT_SECONDS", 1), ("PAUSE_SECONDS", 0), ("TRIES", 2)):
        monkeypatch.setattr(schema, name, value)
    before = schema.current(service.database)
    migrating = Database(service.settings.database())
    with ExitStack() as stack, service.database.read() as session:
        stack.callback(migrating.dispose)
        session.execute(select(Submission.id)).all()
        with pytest.raises(schema.TablesInUse, match="during all 2 attempts"):
            schema.upgrade(migrating)
    assert schema.current(service.database) == before


class _long_query:  # noqa: N801 - reads as a word of the test
    """A transaction in another thread that has read the tables and stays open for several seconds."""

    def __init__(self, database: Database, *, seconds: float):
        self._database, self._seconds = database, seconds
        self._has_read = threading.Event()

    def __enter__(self):
        self._thread = threading.Thread(target=self._read)
        self._thread.start()
        assert self._has_read.wait(HANG_SECONDS)

    def __exit__(self, *_: object):
        self._thread.join()

    def _read(self):
        with self._database.read() as session:
            session.execute(select(Submission.id)).all()
            session.execute(select(ScoringJob.id)).all()
            self._has_read.set()
            time.sleep(self._seconds)


@on_sqlite
@pytest.mark.long
def test_web_servers_are_replaced_under_traffic_and_pending_uploads_complete(
    service,
    web,
    traffic: Traffic,
    make_token,
    predictions_csv,
    nothing_is_lost: Callable[[], None],
):
    old = web.start()
    content = predictions_csv(seed=999)
    with _half_sent(web, make_token("eve"), content) as finish, traffic:
        traffic.wait_for_more()
        web.start()
        process = psutil.Process(old.pid)
        old.request_stop()
        time.sleep(0.5)
        # The server waits for the upload in progress.
        assert process.is_running()
        traffic.sent[finish()] = content
        process.wait(HANG_SECONDS)
        traffic.wait_for_more()
        web.start()
        web.stop(web.children[1])
        traffic.wait_for_more()
    assert traffic.broken == []
    nothing_is_lost()


class _half_sent:  # noqa: N801 - reads as a word of the test
    """An upload that is half sent; calling the function in the block sends the rest."""

    def __init__(self, web, token: str, content: bytes):
        self._body = form(content)
        self._head = (
            "POST /api/v1/competitions/toxicity/submissions HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: multipart/form-data; boundary={BOUNDARY}\r\n"
            f"Content-Length: {len(self._body)}\r\nConnection: close\r\n\r\n"
        ).encode()
        self._connection = socket.create_connection(web.address, timeout=HANG_SECONDS)

    def __enter__(self) -> Callable[[], int]:
        self._connection.sendall(self._head + self._body[: len(self._body) // 2])
        return self._finish

    def __exit__(self, *_: object):
        self._connection.close()

    def _finish(self) -> int:
        self._connection.sendall(self._body[len(self._body) // 2 :])
        answer = b""
        while chunk := self._connection.recv(65536):
            answer += chunk
        assert answer.startswith(b"HTTP/1.1 201 "), answer
        return int(answer.partition(b'"id":')[2].split(b",")[0])


@on_sqlite
def test_worker_ignores_messages_of_another_release(
    service, make_settings, valkey, processes, eventually, watch
):
    settings = make_settings(
        broker_url=SecretStr(valkey.url), sweep_interval_seconds=0.2, sweep_after_seconds=0
    )
    competition = service.competition()
    service.submit(competition, seed=0)
    worker = processes.worker(settings)
    # A worker requests all waiting jobs once, when it starts. This has already happened, so from now on it
    # depends on messages.
    eventually(lambda: watch.states() == [JobState.DONE])
    strange, ordinary = (service.submit(competition, seed=seed) for seed in (1, 2))
    with broker.create_app(settings) as app:
        app.send_task("fairboard.of_another_release", [1], ignore_result=True)
        app.send_task(broker.TASK, strange.job_ids, {"colour": "red"}, ignore_result=True)
        app.send_task(broker.TASK, ordinary.job_ids, ignore_result=True)
    eventually(lambda: watch.states() == [JobState.DONE, JobState.WAITING, JobState.DONE])
    assert worker.poll() is None
    processes.sweeper(settings)  # The sweeper needs no messages.
    eventually(watch.all_scored)
    assert watch.attempts() == [1, 1, 1]


@on_sqlite
def test_retrying_clients_receive_retry_after_and_are_served_in_the_end(
    service,
    make_web,
    make_settings,
    make_token,
    predictions_csv,
    check_invariants,
):
    service.competition(max_pending_submissions=4)
    web = make_web(make_settings(web_workers=1, web_threads=2, disk_reserve_mb=0))
    token = make_token()
    web.start()
    stop = threading.Event()
    refused: list[Any] = []
    sent: dict[int, bytes] = {}

    def insist(number: int):
        """Send a file repeatedly, much sooner than Retry-After allows, and check it between attempts."""
        caller, content = web.caller(token), predictions_csv(seed=number)
        while not stop.is_set():
            answer = caller.send(content, key=f"file {number}")
            if answer.status in (200, 201):
                sent[answer.data["id"]] = content
                return
            checked = caller.request("POST", "/api/v1/competitions/toxicity/check", form(content))
            refused.extend(each for each in (answer, checked) if each.status != 200)

    with ThreadPoolExecutor(12) as pool:
        crowd = [pool.submit(insist, number) for number in range(12)]
        try:
            deadline = time.monotonic() + HANG_SECONDS
            while len(sent) < 12 and time.monotonic() < deadline:
                assert web.caller().get("/healthz").status == 200
                with service.database.read() as session:
                    jobs = select(ScoringJob.id).where(ScoringJob.finished_at.is_(None))
                    waiting = session.scalars(jobs).all()
                assert len(waiting) <= 4
                time.sleep(0.2)  # Simulate a busy worker.
                service.run(*waiting)
        finally:
            stop.set()
        for each in crowd:
            each.result()
    assert len(sent) == 12
    assert {answer.status for answer in refused} <= {429, 503}
    assert any(answer.status == 429 for answer in refused)
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in refused)
    with service.database.read() as session:
        service.run(*session.scalars(select(ScoringJob.id).where(ScoringJob.finished_at.is_(None))))
    acknowledged = {key: sha256(content).hexdigest() for key, content in sent.items()}
    check_invariants(service.database, service.storage, acknowledged=acknowledged)
