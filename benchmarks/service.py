"""Benchmark of the complete service: time from upload over HTTP to stored score.

Run ``python benchmarks/service.py`` on an otherwise idle machine. It takes about four minutes and measures

- the pure path in this process: a file's bytes to the reports of both splits, in CPU time;
- `fairboard serve` for each number of workers and for both databases, with submissions already present;
- the bare service of `bare_service.py` (Flask, Celery, pandas, scikit-learn) on the same files.

Each service first receives single files while it is idle, and then all files from several clients at once.
CPU times include all processes of the service and its PostgreSQL server, but not the clients.
"""

import os

# As in a worker. Must be set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import contextlib
import http.client
import itertools
import json
import pickle
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import files
import jigsaw_like
import numpy as np
import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from sqlalchemy import func, select  # noqa: E402

from grader.models import Competition, Submission, SubmissionStatus  # noqa: E402
from grader.supervisor import valkey  # noqa: E402
from grader.supervisor.service import open_listener  # noqa: E402
from tests.campaign.installation import ROLES, SLUG, installed  # noqa: E402
from tests.campaign.plan import DatabaseKind, Plan  # noqa: E402
from tests.fixtures import crowds  # noqa: E402
from tests.fixtures.web import form  # noqa: E402

CLIENTS = 4
FILES_PER_TEAM = 13
HANG_SECONDS = 60
WARM_UP_FILES = 3
# The sweeper starts its scoring process ten seconds after its own start. The measurement of an idle service
# begins later: after this multiple of its duration.
SETTLE = 1.5


@dataclass
class Load:
    """The solution, and different files of about the same size."""

    rows: int
    count: int
    competition: files.Competition = field(init=False)
    solution: bytes = field(init=False)
    files: list[bytes] = field(init=False)
    megabytes: float = field(init=False)

    def __post_init__(self) -> None:
        data = jigsaw_like.make(self.rows, files.IDENTITIES)
        self.competition = files.make_competition(data)
        frame = self.competition.frame
        usage = frame["is_public"].map({True: "Public", False: "Private"})
        columns = frame.drop(columns=["id", "is_public", "label"]).astype(int)
        columns.insert(0, "id", frame["id"])
        columns.insert(1, "toxicity", frame["label"].astype(int))
        self.solution = columns.assign(Usage=usage).to_csv(index=False).encode()
        dice = np.random.default_rng(3)
        order = np.arange(self.rows)
        self.files = []
        for _ in range(self.count):
            noisy = np.clip(data.predictions + dice.normal(0, 0.05, self.rows), 0, 0.9)
            self.files.append(files.make_file(np.round(noisy, 9), order))
        self.megabytes = len(self.files[0]) / 1e6

    def bodies(self, phase: int) -> list[bytes]:
        """Return upload requests; the last prediction depends on the phase, so no file is sent twice."""
        return [form(f"{content[:-1].decode()}{phase}\n".encode()) for content in self.files]

    def pure_milliseconds(self) -> float:
        """Return the CPU time from a file's bytes to both reports."""
        files.ours(self.files[0], self.competition)
        begin = time.process_time()
        for content in self.files:
            files.ours(content, self.competition)
        return 1000 * (time.process_time() - begin) / self.count


@dataclass(frozen=True)
class Target:
    """A running service: how to upload a file and to wait for it, and its processes by role."""

    port: int
    path: str
    results: str
    tokens: list[str]
    waiting: Callable[[], int]
    processes: Callable[[], dict[str, list[psutil.Process]]]

    def upload(self, body: bytes, token: str) -> int:
        answer = self.request("POST", self.path, body, token)
        number: int = answer["id"]
        return number

    def await_score(self, number: int, token: str) -> None:
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            state = self.request("GET", f"{self.results}/{number}", None, token)["status"]
            if state == "scored":
                return
            if state not in ("pending",) or time.monotonic() > deadline:
                raise SystemExit(f"Submission {number} is {state}.")
            time.sleep(0.01)

    def request(self, method: str, path: str, body: bytes | None = None, token: str = "") -> Any:
        headers = {"Connection": "close", "Authorization": f"Bearer {token}"}
        if body:
            headers["Content-Type"] = "multipart/form-data; boundary=7777777"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        if answer.status not in (200, 201):
            raise SystemExit(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text)

    def cpu(self) -> Counter[str]:
        """Return the CPU seconds of each role, including ended children."""
        spent: Counter[str] = Counter()
        for role, processes in self.processes().items():
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    spent[role] += sum(process.cpu_times()[:4])
        return spent

    def memory(self) -> Counter[str]:
        """Return the proportional memory of each role in MB, with shared pages divided by their users."""
        held: Counter[str] = Counter()
        for role, processes in self.processes().items():
            for process in processes:
                with contextlib.suppress(psutil.Error):
                    held[role] += process.memory_full_info().pss / 1e6
        return held


@dataclass(frozen=True)
class Result:
    """Measurements of one service."""

    name: str
    uploads: list[float]
    scores: list[float]
    busy_uploads: list[float]
    rate: float
    cpu: dict[str, float]
    idle_cpu: float
    memory: dict[str, float]
    busy_memory: dict[str, float]


def measure(name: str, target: Target, load: Load, idle_seconds: float) -> Result:
    """Measure an idle service with single files, and then a burst of all files."""
    tokens = itertools.cycle(target.tokens)
    for body in load.bodies(1)[:WARM_UP_FILES]:
        token = next(tokens)
        target.await_score(target.upload(body, token), token)
    time.sleep(SETTLE * idle_seconds)
    before, memory = target.cpu(), target.memory()
    time.sleep(idle_seconds)
    idle_cpu = sum((target.cpu() - before).values()) / idle_seconds
    uploads, scores = [], []
    for body in load.bodies(2):
        token = next(tokens)
        begin = time.perf_counter()
        number = target.upload(body, token)
        uploads.append(time.perf_counter() - begin)
        target.await_score(number, token)
        scores.append(time.perf_counter() - begin)
    bodies = load.bodies(3)
    before, begin = target.cpu(), time.perf_counter()

    def send(body: bytes, token: str) -> float:
        at = time.perf_counter()
        target.upload(body, token)
        return time.perf_counter() - at

    with ThreadPoolExecutor(CLIENTS) as pool:
        busy_uploads = list(pool.map(send, bodies, tokens))
    busy_memory = target.memory()
    while target.waiting():
        time.sleep(0.01)
    took = time.perf_counter() - begin
    spent = target.cpu() - before
    cpu = {role: 1000 * seconds / load.count for role, seconds in spent.items()}
    return Result(
        name, uploads, scores, busy_uploads, load.count / took, cpu, idle_cpu, dict(memory), dict(busy_memory)
    )


@contextlib.contextmanager
def fairboard(load: Load, workers: int, database: DatabaseKind, present: int) -> Iterator[Target]:
    plan = Plan(database=database, rows=load.rows, uploads=3 * load.count + 20)
    with (
        tempfile.TemporaryDirectory(prefix="fb-") as folder,
        installed(plan, Path(folder)) as (site, server),
    ):
        site.settings = site.settings.model_copy(update={"scoring_processes": workers, "disk_reserve_mb": 0})
        tokens = site.fill(load.solution)
        if present:
            end = datetime.now(UTC)
            with site.database.write() as session:
                competition = session.scalars(select(Competition)).one()
                crowds.fill(
                    session,
                    competition=competition,
                    teams=-(-present // FILES_PER_TEAM),
                    files=present,
                    start=end - timedelta(days=30),
                    end=end,
                )
        site.start()

        def waiting() -> int:
            with site.database.read() as session:
                pending = select(func.count()).where(Submission.status == SubmissionStatus.PENDING)
                return session.scalar(pending) or 0

        def processes() -> dict[str, list[psutil.Process]]:
            roles = dict.fromkeys(role for _, *names in ROLES for role in names)
            found = {role: site.processes(role) for role in ("serve", *roles, "other")}
            if server is not None:
                main = psutil.Process(server._server.get_pid())
                found["postgresql"] = [main, *main.children(recursive=True)]
            return found

        yield Target(
            port=site.settings.port,
            path=f"/api/v1/competitions/{SLUG}/submissions",
            results="/api/v1/submissions",
            tokens=tokens,
            waiting=waiting,
            processes=processes,
        )


@contextlib.contextmanager
def bare(load: Load, workers: int) -> Iterator[Target]:
    server = valkey.find_server()
    if server is None:
        raise SystemExit("The bare service needs a Valkey or Redis server.")
    with tempfile.TemporaryDirectory(prefix="fb-") as folder, contextlib.ExitStack() as stack:
        Path(folder, "solution.pickle").write_bytes(pickle.dumps(load.competition.frame))
        with open_listener("127.0.0.1", 0) as listener:
            port = listener.getsockname()[1]
        socket = Path(folder, "valkey.sock")
        python = (sys.executable, "-m")
        address = ("-b", f"127.0.0.1:{port}")
        commands = {
            "valkey": (str(server), "--port", "0", "--unixsocket", str(socket), "--save", ""),
            "web": (*python, "gunicorn", "-w", "2", "--threads", "16", *address, "bare_service:app"),
            "worker": (*python, "celery", "-A", "bare_service:celery_app", "worker", "-c", str(workers)),
        }
        trees: dict[str, psutil.Process] = {}
        for role, command in commands.items():
            trees[role] = stack.enter_context(_running(command, BARE_FOLDER=folder))
        target = Target(
            port=port,
            path="/submissions",
            results="/submissions",
            tokens=[""],
            waiting=lambda: int(target.request("GET", "/waiting")["waiting"]),
            processes=lambda: {role: [tree, *tree.children(recursive=True)] for role, tree in trees.items()},
        )
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            with contextlib.suppress(OSError):
                target.request("GET", "/waiting")
                break
            if time.monotonic() > deadline:
                raise SystemExit("The bare service did not start.")
            time.sleep(0.1)
        yield target


def guard(pid: int) -> subprocess.Popen[bytes]:
    """Ensure that a process ends when this one ends for any reason."""
    command = ["sh", "-c", f"cat; kill -QUIT {pid} 2> /dev/null"]  # the pipe closes when this process ends
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


@contextlib.contextmanager
def _running(command: tuple[str, ...], **environment: str) -> Iterator[psutil.Process]:
    """Run a command of the bare service and end all its processes, even if this process is killed."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=Path(__file__).parent, env=os.environ | environment, stdout=quiet, stderr=quiet
    )
    guardian = guard(process.pid)
    tree = psutil.Process(process.pid)
    try:
        yield tree
    finally:
        for each in (*tree.children(recursive=True), tree):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        process.wait()
        guardian.communicate()


def _at(values: list[float], share: float) -> float:
    return 1000 * float(np.quantile(values, share))


def print_result(result: Result, pure: float) -> None:
    """Print latencies, CPU times, the rate and the memory of one service."""
    cpu = sum(result.cpu.values())
    print(f"\n{result.name}")
    print(f"{'':34}{'p50':>8}{'p95':>8}{'p99':>8}")
    for name, values in (
        ("upload, idle (ms)", result.uploads),
        ("upload to score, idle (ms)", result.scores),
        (f"upload, {CLIENTS} clients (ms)", result.busy_uploads),
    ):
        print(f"{name:34}" + "".join(f"{_at(values, share):>8.0f}" for share in (0.5, 0.95, 0.99)))
    print(f"{'rate (files/s)':34}{result.rate:>8.1f}")
    print(f"{'CPU time per file (ms)':34}{cpu:>8.0f}  {pure / cpu:.0%} of it is the pure path")
    shown = {role: spent for role, spent in result.cpu.items() if spent >= 0.5}
    print("    " + ", ".join(f"{role} {spent:.0f}" for role, spent in shown.items()))
    print(f"{'CPU time while idle (ms/s)':34}{1000 * result.idle_cpu:>8.0f}")
    total, busy = sum(result.memory.values()), sum(result.busy_memory.values())
    print(f"{'memory, idle and under load (MB)':34}{total:>8.0f}{busy:>8.0f}")
    print("    " + ", ".join(f"{role} {held:.0f}" for role, held in result.memory.items() if held >= 1))


def main() -> None:
    """Measure the pure path, Fairboard and the bare service, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=37, help="number of files in each phase")
    parser.add_argument("--rows", type=int, default=files.ROWS, help="number of rows per file")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="scoring processes")
    parser.add_argument("--databases", nargs="+", default=list(DatabaseKind), choices=list(DatabaseKind))
    parser.add_argument("--present", type=int, nargs="+", default=[1_000], help="submissions already present")
    parser.add_argument("--idle-seconds", type=float, default=10, help="duration of the idle measurement")
    options = parser.parse_args()
    load = Load(options.rows, options.files)
    pure = load.pure_milliseconds()
    print(
        f"{options.files} files of {load.megabytes:.1f} MB, {options.rows:,} rows, "
        f"{files.IDENTITIES} identities"
    )
    print(f"pure path: {pure:.1f} ms of CPU time per file")
    for workers in options.workers:
        name = f"bare Flask + Celery + pandas + scikit-learn, {workers} workers"
        with bare(load, workers) as target:
            reference = measure(name, target, load, options.idle_seconds)
        print_result(reference, pure)
        for database, present in itertools.product(options.databases, options.present):
            name = f"Fairboard on {database}, {workers} workers, {present:,} submissions present"
            with fairboard(load, workers, DatabaseKind(database), present) as target:
                result = measure(name, target, load, options.idle_seconds)
            print_result(result, pure)
            print(
                f"{'rate relative to the bare service':34}{result.rate / reference.rate:>7.1f}x", flush=True
            )


if __name__ == "__main__":
    main()
