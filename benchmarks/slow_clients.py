"""Benchmark of web servers: response times with hundreds of slow clients.

Run ``python benchmarks/slow_clients.py`` on an otherwise idle machine. Each server serves the same site on
SQLite with two processes of 16 threads. There are 200 connections with incomplete headers, 100 with slow
bodies and 200 silent ones from 25 loopback addresses. Disconnected clients reconnect immediately. Meanwhile,
three users read a leaderboard and upload files. By default, all installed servers are measured. Servers that
Fairboard does not use must be installed first: ``pip install gevent granian``.
"""

import argparse
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from grader.db import Database
from grader.maintenance import schema
from grader.services.identity import api_tokens
from grader.settings import Settings
from grader.storage.stores import open_storage
from tests.fixtures.service import Service, write_predictions
from tests.fixtures.slow_clients import besieged
from tests.fixtures.web import Caller

BOARD = "/competitions/toxicity/leaderboard"
CROWD = {"half heads": 200, "slow bodies": 100, "silent": 200}
PEOPLE = ("ada", "bob", "eve")
TIMEOUT_SECONDS = 10  # slower responses count as missing
GUNICORN = (sys.executable, "-m", "gunicorn", "webapp.wsgi:app", "--no-control-socket", "--workers=2")
SERVERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "fairboard": ("waitress", (*GUNICORN, "--worker-class=webapp.server.worker.Worker", "--threads=16")),
    "gunicorn gthread": ("gunicorn", (*GUNICORN, "--worker-class=gthread", "--threads=16")),
    "gunicorn gevent": ("gevent", (*GUNICORN, "--worker-class=gevent", "--worker-connections=1000")),
    "waitress": (
        "waitress",
        (sys.executable, "-m", "waitress", "--threads=32", "--connection-limit=2000", "--asyncore-use-poll"),
    ),
    "granian": (
        "granian",
        (sys.executable, "-m", "granian", "--interface=wsgi", "--workers=2", "--blocking-threads=16"),
    ),
}


def main() -> None:
    """Measure each server in turn and print the response times of regular users."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", nargs="*", choices=[*SERVERS, []], help="default: all installed servers")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    print(f"{'':18}{'answered':>10}{'none':>6}{'within 1 s':>12}{'median':>9}{'95 %':>9}{'uploads/s':>11}")
    for name in options.servers or SERVERS:
        package, command = SERVERS[name]
        if importlib.util.find_spec(package) is None:
            print(f"{name:18}is not installed. Run: pip install {package}")
            continue
        with _site() as (settings, callers), _serving(settings, name, command) as address:
            people = [Caller(address, token, timeout_seconds=TIMEOUT_SECONDS) for token in callers]
            with besieged(address, CROWD):
                _report(name, _visits(people, options.seconds), options.seconds)


def _report(name: str, visits: list[tuple[str, float | None]], seconds: float) -> None:
    took = sorted(each for _, each in visits if each is not None)
    none = len(visits) - len(took)
    everybody = took + [float("inf")] * none
    within = sum(each < 1 for each in took) / len(visits)
    uploads = sum(kind == "upload" and each is not None for kind, each in visits) / seconds
    median, slow = (everybody[int(len(everybody) * share)] for share in (0.5, 0.95))
    print(f"{name:18}{len(took):>10,}{none:>6,}{within:>12.1%}{median:>7.2f} s{slow:>7.2f} s{uploads:>11.1f}")


def _visits(people: list[Caller], seconds: float) -> list[tuple[str, float | None]]:
    end = time.monotonic() + seconds

    def visit(number: int) -> list[tuple[str, float | None]]:
        done: list[tuple[str, float | None]] = []
        seed = 100_000 * number
        while time.monotonic() < end:
            seed += 1
            content = write_predictions(seed=seed)
            done.append(("page", _timed(lambda: people[number].get(BOARD), 200)))
            done.append(("upload", _timed(lambda content=content: people[number].send(content), 201)))
            time.sleep(0.1)
        return done

    with ThreadPoolExecutor(len(people)) as pool:
        return [each for done in pool.map(visit, range(len(people))) for each in done]


def _timed(ask: Callable[[], object], status: int) -> float | None:
    began = time.monotonic()
    try:
        answered = ask().status == status  # type: ignore[attr-defined]
    except ConnectionError:
        return None
    return time.monotonic() - began if answered else None


@contextmanager
def _site() -> Iterator[tuple[Settings, list[str]]]:
    folder = Path(tempfile.mkdtemp(prefix="slow-"))
    settings = Settings(data_dir=folder, password_hash_memory_kib=8)
    database = Database(settings.database(), pool_size=2)
    try:
        schema.upgrade(database)
        service = Service(database, open_storage(settings.storage()), settings)
        service.competition()
        users = [service.user(name) for name in PEOPLE]
        with database.write() as session:
            made = [
                api_tokens.create(session, user=user, name="benchmark", now=service.now)[1] for user in users
            ]
        yield settings, made
    finally:
        database.dispose()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _serving(settings: Settings, name: str, command: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        host, port = taken.getsockname()
    where = {
        "waitress": (f"--listen={host}:{port}", "webapp.wsgi:app"),
        "granian": (f"--host={host}", f"--port={port}", "webapp.wsgi:app"),
    }.get(name, (f"--bind={host}:{port}", "--log-level=error"))
    environment = {**os.environ, **settings.environment(), "FAIRBOARD_RATE_LIMITS": "false"}
    process = subprocess.Popen(
        [*command, *where],
        cwd=Path(__file__).resolve().parents[1],
        env=environment,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while _timed(lambda: Caller((host, port), timeout_seconds=5).get("/livez"), 200) is None:
            if time.monotonic() > deadline:
                raise SystemExit(f"{name} did not start.")
            time.sleep(0.2)
        yield host, port
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == "__main__":
    main()
