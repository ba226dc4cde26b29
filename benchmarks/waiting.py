"""Benchmark of response times while 500 clients wait for results and events.

Run ``python benchmarks/waiting.py`` on an otherwise idle machine. Fairboard's server (two processes of 16
threads, SQLite) serves three users who alternately read a leaderboard and a submission. In every second
round, 400 programs also wait with ``?wait=60`` for a result that never arrives, and 100 programs request a
stream of events. Rejected programs repeat their request after the time in ``Retry-After``.
"""

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from grader.db import Database
from grader.maintenance import schema
from grader.services.accounts import api_tokens
from grader.settings import Settings
from grader.storage.stores import open_storage
from tests.fixtures.service import Service
from tests.fixtures.web import Web

WAITING, STREAMING = 400, 100
API = "/api/v1"
BOARD = f"{API}/competitions/toxicity/leaderboard"
EVENTS = f"{API}/competitions/toxicity/events"
SETTLING_SECONDS = 10


def main() -> None:
    """Measure response times without and with waiting programs; print both and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20, help="duration of each turn in seconds")
    parser.add_argument("--crowd", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crowd:
        asyncio.run(_crowd(int(options.crowd[0]), Path(options.crowd[1]).read_text().split()))
        return
    alone: list[float] = []
    among: list[float] = []
    with _site() as (web, readers, tokens):
        _measure(web, readers, 5)  # warm-up
        for _ in range(options.rounds):
            alone += _measure(web, readers, options.seconds)
            with _waiting(web, tokens):
                among += _measure(web, readers, options.seconds)
    print(f"{'':24}{'requests':>10}{'median':>10}{'95 %':>10}{'99 %':>10}")
    for name, took in (("alone", alone), (f"while {WAITING + STREAMING} wait", among)):
        print(
            f"{name:24}{len(took):>10,}"
            + "".join(f"{1000 * _at(took, q):>7.1f} ms" for q in (0.5, 0.95, 0.99))
        )
    ratios = (f"{_at(among, q) / _at(alone, q):>10.2f}" for q in (0.5, 0.95, 0.99))
    print(f"{'ratio':24}{len(among) / len(alone):>10.2f}" + "".join(ratios))


def _at(took: list[float], share: float) -> float:
    return sorted(took)[int(len(took) * share)]


def _measure(web: Web, tokens: list[str], seconds: float) -> list[float]:
    end = time.monotonic() + seconds

    def read(token: str) -> list[float]:
        caller, took = web.caller(token), []
        while time.monotonic() < end:
            for path in (BOARD, f"{API}/submissions/1"):
                began = time.monotonic()
                caller.get(path)
                took.append(time.monotonic() - began)
            time.sleep(0.05)
        return took

    with ThreadPoolExecutor(len(tokens)) as pool:
        return [each for took in pool.map(read, tokens) for each in took]


async def _crowd(port: int, tokens: list[str]) -> None:
    async def ask(number: int, token: str) -> None:
        path = EVENTS if number < STREAMING else f"{API}/submissions/1?wait=60"
        while True:
            pause = 1.0
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                writer.write(f"{head}Connection: close\r\n\r\n".encode())
                answer = await reader.read()
                writer.close()
                if found := re.search(rb"\r\nRetry-After: (\d+)", answer):
                    pause = float(found[1])
            except OSError:
                pass
            await asyncio.sleep(pause)

    await asyncio.gather(*(ask(number, token) for number, token in enumerate(tokens)))


@contextmanager
def _waiting(web: Web, tokens: list[str]) -> Iterator[None]:
    listed = web.settings.data_dir / "tokens"
    listed.write_text("\n".join(tokens))
    command = [sys.executable, __file__, "--crowd", str(web.address[1]), str(listed)]
    crowd = subprocess.Popen(command)
    time.sleep(SETTLING_SECONDS)
    yield
    crowd.kill()
    crowd.wait()
    time.sleep(SETTLING_SECONDS)


@contextmanager
def _site() -> Iterator[tuple[Web, list[str], list[str]]]:
    folder = Path(tempfile.mkdtemp(prefix="waiting-"))
    settings = Settings(
        data_dir=folder, password_hash_memory_kib=8, password_hash_rounds=1, rate_limits=False
    )
    database = Database(settings.database(), pool_size=2)
    web = Web(settings)
    try:
        schema.upgrade(database)
        service = Service(database, open_storage(settings.storage()), settings)
        competition = service.competition()
        admins = [service.user(f"person {place}", is_admin=True) for place in range(100)]
        service.submit(competition, user="ada")
        for seed in range(20):
            service.score(service.submit(competition, user=f"team {seed}", seed=seed))
        with database.write() as session:  # five programs per user
            people = [admins[place % len(admins)] for place in range(WAITING + STREAMING)]
            tokens = [_token(session, user, service) for user in people]
            readers = [_token(session, user, service) for user in admins[:3]]
        web.start()
        yield web, readers, tokens
    finally:
        web.end()
        database.dispose()
        shutil.rmtree(folder, ignore_errors=True)


def _token(session: object, user: object, service: Service) -> str:
    return api_tokens.create(session, user=user, name="benchmark", now=service.now)[1]  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
