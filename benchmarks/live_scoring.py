"""Benchmark of live scoring during a rescoring: time from an upload to its score.

Run ``python benchmarks/live_scoring.py [--database postgresql] [--files 10000]``, which takes some
minutes. It starts an installation with ``fairboard serve``, and submits a file every half second: without a
rescoring, then during the rescoring of many files.
"""

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from sqlalchemy import func, insert, select

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from grader.maintenance import schema  # noqa: E402
from grader.models import JobState, ScoringJob, Submission, SubmissionStatus  # noqa: E402
from grader.services.competitions import lookup  # noqa: E402
from grader.services.competitions.acting import Act  # noqa: E402
from grader.services.rescoring import preparation  # noqa: E402
from grader.services.site.log import Actor  # noqa: E402
from tests.campaign.installation import Installation, installed  # noqa: E402
from tests.campaign.plan import DatabaseKind, Plan  # noqa: E402
from tests.fixtures.rescorings import store_corrected  # noqa: E402
from tests.fixtures.service import Service, write_predictions, write_solution  # noqa: E402

ACTOR = Actor(None, "benchmark")
DISTINCT = 50  # files of the rescoring
PAUSE_SECONDS = 0.5
HANG_SECONDS = 120


class Scene:
    """An installation with a competition and its submissions."""

    def __init__(self, made: Installation, rows: int) -> None:
        self._made, self._rows, self._seed = made, rows, 1000
        self._hints = made.hints()
        schema.upgrade(made.database)
        self._service = Service(made.database, made.storage, made.settings, now=datetime.now(UTC))
        self.competition = self._service.competition(csv=write_solution(rows))

    def fill(self, count: int) -> None:
        """Insert rows of submissions that are already scored."""
        blobs = [
            self._made.storage.put(write_predictions(self._rows, seed=n)).sha256 for n in range(DISTINCT)
        ]
        first = self._service.submit(self.competition, csv=write_predictions(self._rows, seed=999)).submission
        row = {"competition_id": first.competition_id, "team_id": first.team_id, "user_id": first.user_id}
        row |= {"size_bytes": 1, "file_name": "submission.csv", "status": SubmissionStatus.SCORED}
        at = datetime.now(UTC) - timedelta(days=1)
        rows = [row | {"sha256": blobs[n % DISTINCT], "submitted_at": at} for n in range(count)]
        with self._made.database.write() as session:
            session.execute(insert(Submission), rows)

    def prepare(self) -> None:
        """Start a rescoring."""
        with self._made.database.read() as session:
            competition = lookup.get(session, slug=self.competition.slug)
            corrected = write_solution(self._rows, seed=7)
            stored = store_corrected(self._made.storage, competition, corrected)
        with self._made.database.write() as session:
            act = Act(session, session.merge(competition), ACTOR, datetime.now(UTC))
            preparation.prepare(act, solution=stored, reason="Corrected.")

    def open_jobs(self) -> int:
        with self._made.database.read() as session:
            jobs = select(func.count()).where(ScoringJob.state.in_((JobState.WAITING, JobState.CLAIMED)))
            return session.scalar(jobs) or 0

    def seconds(self) -> float:
        """Return the time from a submission to its score."""
        self._seed += 1
        self._service.now = datetime.now(UTC)
        csv, start = write_predictions(self._rows, seed=self._seed), time.monotonic()
        accepted = self._service.submit(self.competition, csv=csv)
        self._hints.send(accepted.job_ids)
        while time.monotonic() - start < HANG_SECONDS:
            with self._made.database.read() as session:
                if session.get_one(Submission, accepted.submission.id).status is SubmissionStatus.SCORED:
                    return time.monotonic() - start
            time.sleep(0.01)
        raise SystemExit("A file was not scored.")


def report(name: str, found: list[float]) -> None:
    median, most = np.quantile(found, (0.5, 0.99))
    print(f"{name:24}{len(found):>6} files{median:>9.2f} s{most:>9.2f} s{max(found):>9.2f} s", flush=True)


def main() -> None:
    """Measure and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", type=DatabaseKind, choices=list(DatabaseKind), default="sqlite")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=20_000, help="number of rows per file")
    parser.add_argument("--uploads", type=int, default=100)
    options = parser.parse_args()
    plan = Plan(database=options.database, rows=options.rows)
    with tempfile.TemporaryDirectory(prefix="fb-") as folder, installed(plan, Path(folder)) as (made, _):
        scene = Scene(made, options.rows)
        scene.fill(options.files)
        made.start()
        time.sleep(3)
        scene.seconds()
        print(f"{'':24}{'':>12}{'median':>11}{'99 %':>11}{'longest':>11}")
        found = []
        for _ in range(options.uploads):
            found.append(scene.seconds())
            time.sleep(PAUSE_SECONDS)
        report("without a rescoring", found)
        scene.prepare()
        found, start = [], time.monotonic()
        while len(found) < options.uploads and scene.open_jobs():
            found.append(scene.seconds())
            time.sleep(PAUSE_SECONDS)
        report("during the rescoring", found)
        while scene.open_jobs():
            time.sleep(0.2)
        print(f"The rescoring took {time.monotonic() - start:.0f} s.")


if __name__ == "__main__":
    main()
