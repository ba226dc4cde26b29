"""Benchmark of uploads during an attack with 100 wrong passwords per second.

Run ``python benchmarks/logins.py``, which takes about a minute. A site with the configuration of `serve`
(SQLite, two web processes, Argon2id) receives consecutive uploads of 2,000 rows: first without other load,
then during logins with wrong passwords for many names from many addresses. All requests stay on this machine.
"""

import argparse
import http.client
import json
import re
import socket
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from grader import db
from grader.db import Database
from grader.files import read_solution
from grader.maintenance import schema
from grader.services.identity import accounts, api_tokens
from grader.services.site.log import Actor
from grader.services.solutions import intake
from grader.settings import Settings
from grader.storage.stores import open_storage
from grader.supervisor import service
from grader.supervisor.service import open_listener
from grader.supervisor.supervisor import Child
from tests.fixtures.competitions import publish_competition

ROWS = 2_000
THREADS = 300  # more than can wait in two processes, so that the target rate is reached
WIDE = {
    "max_daily_submissions": None,
    "max_total_submissions": None,
    "max_pending_submissions": 100_000,
    "max_hourly_rejections": 1000,
}
BOUNDARY = "7777777"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=int, default=100, help="wrong passwords per second")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fb-") as folder:
        settings = Settings(
            data_dir=Path(folder),
            trusted_proxies=1,
            disk_reserve_mb=0,
            broker_url=None,
            secret_key="benchmark",
        )
        token = fill(settings)
        listener = open_listener("127.0.0.1", 0)
        program = service.web_program(
            settings,
            application="webapp.wsgi:app",
            listener=listener.fileno(),
            environment=settings.environment(),
        )
        web = Child(program)
        web.tend()
        try:
            site = Site(listener, token)
            site.wait()
            peace = site.upload_for(options.seconds / 2)
            with Flood(site, options.rate) as flood:
                war = site.upload_for(options.seconds)
        finally:
            web.stop()
            listener.close()
    print(f"{'':24}{'uploads':>9}{'median':>10}{'95 %':>10}{'longest':>10}")
    for name, taken in (("undisturbed", peace), (f"{options.rate} logins per second", war)):
        nth = sorted(taken)[int(0.95 * (len(taken) - 1))]
        print(f"{name:24}{len(taken):9}{median(taken):9.3f}s{nth:9.3f}s{max(taken):9.3f}s")
    print(f"{'ratio of the medians':24}{median(war) / median(peace):19.2f}")
    sent = sum(flood.answers.values())
    print(f"logins: {sent / flood.seconds:.0f} a second; " + ", ".join(f"{n} x {s}" for s, n in flood.told()))


def fill(settings: Settings) -> str:
    """Create the tables, a competition and a user; return the user's API token."""
    database = Database(settings.database())
    schema.upgrade(database)
    lines = ["id,toxicity,male,Usage"]
    for row in range(ROWS):
        lines.append(f"{row},{row % 2},{row // 2 % 2},{'Public' if row // 4 % 2 else 'Private'}")
    solution = read_solution("\n".join(lines).encode() + b"\n", label="toxicity", identities=["male"])
    storage = open_storage(settings.storage())
    stored = intake.store(storage, solution, split_key=b"key", identities=("male",))
    with database.write() as session:
        now = db.now(session)
        publish_competition(
            session,
            slug="toxicity",
            title="Toxicity",
            overview="",
            solution=stored,
            **WIDE,
            actor=Actor(None, "benchmark"),
            now=now,
        )
        user, _ = accounts.create_user(
            session, name="ada", passwords=accounts.password_hasher(settings), now=now
        )
        _, token = api_tokens.create(session, user=user, name="benchmark", now=now)
    database.dispose()
    return token


class Site:
    """HTTP client of the running site."""

    def __init__(self, listener: socket.socket, token: str) -> None:
        self.address = listener.getsockname()[:2]
        self._token = token
        self._sent = 0

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        try:
            connection.request(method, path, body, {"Connection": "close", **headers})
            answer = connection.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())
        finally:
            connection.close()

    def wait(self) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if self.ask("GET", "/healthz")[0]:
                    return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("The site did not start.")

    def upload_for(self, seconds: float) -> list[float]:
        """Upload files consecutively; return the duration of each upload in seconds."""
        taken, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            self._sent += 1
            rows = "\n".join(f"{row},{(row * 7919 + self._sent) % 10007}" for row in range(ROWS))
            head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
            body = f"{head}id,prediction\n{rows}\n\r\n--{BOUNDARY}--\r\n".encode()
            begun = time.monotonic()
            status, text, _ = self.ask(
                "POST",
                "/api/v1/competitions/toxicity/submissions",
                body,
                Authorization=f"Bearer {self._token}",
                **{"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"},
            )
            taken.append(time.monotonic() - begun)
            assert status == 201, json.loads(text)
            time.sleep(0.05)
        return taken


class Flood:
    """Logins with wrong passwords at a constant rate, each with another name and address."""

    def __init__(self, site: Site, rate: int) -> None:
        self._site, self._rate = site, rate
        self.answers: Counter[int] = Counter()
        self._stop = threading.Event()
        _, page, headers = site.ask("GET", "/login")
        self._cookie = headers["Set-Cookie"].split(";")[0]
        found = re.search(rb'name="csrf_token" value="([^"]+)"', page)
        assert found is not None
        self._token = found[1].decode()

    def __enter__(self) -> "Flood":
        self._begun = time.monotonic()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(THREADS)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._begun
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def told(self) -> list[tuple[int, int]]:
        return sorted(self.answers.items())

    def _run(self, number: int) -> None:
        due = self._begun + number / self._rate
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            due += THREADS / self._rate
            each = time.monotonic_ns()
            form = {"csrf_token": self._token, "name": f"person {each % 997}", "password": "guess"}
            status, _, _ = self._site.ask(
                "POST",
                "/login",
                urlencode(form).encode(),
                Cookie=self._cookie,
                **{
                    "Content-Type": "application/x-www-form-urlencoded",
                    "X-Forwarded-For": f"10.{each % 251}.{each % 241}.{each % 239}",
                },
            )
            self.answers[status] += 1


if __name__ == "__main__":
    main()
