"""Benchmark of recovery: time from killing the workers to the score.

Run ``python benchmarks/recovery.py [--database postgresql] [--busy 8]``, which takes about two minutes. It
starts an installation with ``fairboard serve`` and Valkey. Whenever a file is being scored, it kills the
Celery worker and its scoring processes (``kill -9``), first with pauses between the kills, then in quick
succession. ``--busy`` sets the number of other busy programs to run.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TypeVar

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.maintenance import schema  # noqa: E402
from grader.models import Competition, ScoringJob, Submission, SubmissionStatus  # noqa: E402
from grader.supervisor.supervisor import SETTLED_AFTER_SECONDS  # noqa: E402
from tests.campaign.installation import Installation, installed  # noqa: E402
from tests.campaign.plan import DatabaseKind, Plan  # noqa: E402
from tests.fixtures.service import Service, write_predictions, write_solution  # noqa: E402
from tests.fixtures.snags import Snag  # noqa: E402

LOOK_SECONDS = 0.01
HANG_SECONDS = 300
CALM_SECONDS = SETTLED_AFTER_SECONDS + 5
VICTIMS = ("worker", "scorer")
BUSY = "import os\nwhile os.getppid() == {parent}: sum(range(100_000))"

Found = TypeVar("Found")


def main() -> None:
    """Measure and print the recovery times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", type=DatabaseKind, choices=list(DatabaseKind), default="sqlite")
    parser.add_argument("--times", type=int, default=5, help="number of kills of each kind")
    parser.add_argument("--rows", type=int, default=20_000, help="number of rows per file")
    parser.add_argument("--busy", type=int, default=0, help="number of other busy programs")
    options = parser.parse_args()
    plan = Plan(database=options.database, rows=options.rows)
    with (
        tempfile.TemporaryDirectory(prefix="fb-") as folder,
        installed(plan, Path(folder)) as (made, _),
    ):
        scene = Scene(made, options.rows)
        made.start()
        time.sleep(CALM_SECONDS)
        with _busy(options.busy):
            peace = [scene.undisturbed() for _ in range(options.times)]
            print(f"{options.database}, {options.rows:,} rows per file, {options.busy} other busy programs")
            print(
                f"{'':22}{'scores':>7}{'median':>9}{'longest':>9}{'taken again':>13}{'ratio':>8}  scored by"
            )
            _report("undisturbed", [Recovery(0, each, "worker") for each in peace], median(peace))
            _report("killed after a pause", scene.kills(options.times, CALM_SECONDS), median(peace))
            _report("in quick succession", scene.kills(options.times, 0), median(peace))


@dataclass(frozen=True, slots=True)
class Recovery:
    """The seconds from the kill to the next claim and to the score, and the process that scored."""

    taken: float
    scored: float
    by: str


class Scene:
    """An installation with a competition to which files are submitted."""

    def __init__(self, installation: Installation, rows: int) -> None:
        self._installation = installation
        self._rows = rows
        self._seed = 0
        schema.upgrade(installation.database)
        self._service = Service(installation.database, installation.storage, installation.settings)
        self._competition: Competition = self._service.competition(csv=write_solution(rows))

    def undisturbed(self) -> float:
        """Return the number of seconds from a submission's hint to its score."""
        job_id, _ = self._accept()
        begin = time.monotonic()
        self._hint(job_id)
        _wait_for(lambda: self._is_scored(job_id))
        return time.monotonic() - begin

    def kills(self, times: int, pause_seconds: float) -> list[Recovery]:
        """Kill the workers several times, with a pause before each kill."""
        found = []
        for _ in range(times):
            time.sleep(pause_seconds)
            found.append(self._kill())
        return found

    def _kill(self) -> Recovery:
        job_id, snag = self._held_by_a_worker()
        victims = [each for role in VICTIMS for each in self._installation.processes(role)]
        begin = time.monotonic()
        for victim in victims:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
        taken = _wait_for(lambda: time.monotonic() - begin if self._job(job_id).attempt_count > 1 else None)
        _wait_for(lambda: self._is_scored(job_id))
        scored = time.monotonic() - begin
        snag.end()
        return Recovery(taken, scored, self._role_of_holder(job_id))

    def _held_by_a_worker(self) -> tuple[int, Snag]:
        """Send a file that blocks its reader; repeat if the sweeper has claimed it first."""
        while True:
            job_id, sha256 = self._accept()
            snag = Snag.at(self._installation.data_dir / "blobs", sha256)
            self._hint(job_id)
            _wait_for(snag.holds)
            is_workers = self._role_of_holder(job_id) == "worker"
            snag.restore()
            if is_workers:
                return job_id, snag
            snag.let_go()
            _wait_for(lambda job_id=job_id: self._is_scored(job_id))

    def _accept(self) -> tuple[int, str]:
        self._seed += 1
        self._service.now = datetime.now(UTC)
        accepted = self._service.submit(self._competition, csv=write_predictions(self._rows, seed=self._seed))
        return accepted.job_ids[0], accepted.submission.sha256

    def _hint(self, job_id: int) -> None:
        hints = self._installation.hints()
        hints.send([job_id])

    def _job(self, job_id: int) -> ScoringJob:
        with self._installation.database.read() as session:
            return session.get_one(ScoringJob, job_id)

    def _is_scored(self, job_id: int) -> bool:
        with self._installation.database.read() as session:
            job = session.get_one(ScoringJob, job_id)
            return session.get_one(Submission, job.submission_id).status is SubmissionStatus.SCORED

    def _role_of_holder(self, job_id: int) -> str:
        holder = self._job(job_id).holder or ""
        pid = int(holder.rsplit("/", 2)[1])
        with contextlib.suppress(psutil.NoSuchProcess):
            return "sweeper" if "sweeper" in psutil.Process(pid).cmdline() else "worker"
        return "gone"


def _report(name: str, found: list[Recovery], usual: float) -> None:
    scored = [each.scored for each in found]
    taken = median(each.taken for each in found)
    by = ", ".join(f"{count} x {who}" for who, count in Counter(each.by for each in found).items())
    print(
        f"{name:22}{len(found):>7}{median(scored):>7.2f} s{max(scored):>7.2f} s{taken:>11.2f} s"
        f"{median(scored) / usual:>8.1f}  {by}"
    )


def _wait_for(look: Callable[[], Found | None]) -> Found:
    deadline = time.monotonic() + HANG_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise SystemExit("The expected state was not reached in time.")
        time.sleep(LOOK_SECONDS)
    return found


@contextmanager
def _busy(count: int) -> Iterator[None]:
    command = [sys.executable, "-c", BUSY.format(parent=os.getpid())]
    programs = [subprocess.Popen(command) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


if __name__ == "__main__":
    main()
