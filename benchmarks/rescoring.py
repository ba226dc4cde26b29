"""Benchmark of rescoring against scoring every file with public notebook code.

Run ``python benchmarks/rescoring.py`` on an otherwise idle machine. It needs 1 GB in the folder for temporary
files. It fills a SQLite database with submissions and rescores them with corrected solutions, using the
services and batches of a worker. The reference reads a file with pandas, merges it with the solution and runs
the public kernel on both splits. Both are measured in turn in the same run.

"Warm" is the time from cached ranks to committed scores; "cold" is the time from the stored files.
"""

import os

# As in a worker. This must be set before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import re
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import files
import jigsaw_like
import numpy as np
from sqlalchemy import insert, select

from grader.db import Database
from grader.files import read_solution
from grader.maintenance import schema
from grader.models import Competition, Score, ScoringVersion, Split, Submission, Team, User
from grader.services.competitions.acting import Act
from grader.services.rescoring import preparation
from grader.services.site.log import Actor
from grader.settings import Settings
from grader.storage.stores import Storage, open_storage
from grader.worker import scorer as scoring
from grader.worker.processes import keep_freed_memory
from grader.worker.scorer import BATCH_JOBS, Scorer
from tests.fixtures import stored_solutions
from tests.fixtures.competitions import publish_competition
from tests.fixtures.rescorings import store_corrected

FILES = BATCH_JOBS  # the first batch reads every file; later batches use cached ranks
SUBMISSIONS = 3 * BATCH_JOBS
TEAMS = 20
VERSIONS = 6
CORRECTED_LABELS = 50
AT_LEAST = 100
EXTRAPOLATED = 130_000
ACTOR = Actor(None, "benchmark")


class Installation:
    """A database and a storage in a folder, with a competition whose submissions are already scored."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(data_dir=folder)
        self.database = Database(self.settings.database(), pool_size=1)
        self.storage: Storage = open_storage(self.settings.storage())
        self.data = jigsaw_like.make(files.ROWS, files.IDENTITIES)
        self.reference = files.make_competition(self.data)
        schema.upgrade(self.database)
        self.competition = self._competition()
        self.files = list(self._files())
        self._submit()

    def prepare(self, number: int) -> ScoringVersion:
        """Start a rescoring with some inverted labels."""
        stored = store_corrected(self.storage, self.competition, self._solution(number))
        with self.database.write() as session:
            act = Act(session, session.merge(self.competition), ACTOR, datetime.now(UTC))
            return preparation.prepare(act, solution=stored, reason="Corrected.")

    def drop(self, version: ScoringVersion) -> None:
        with self.database.write() as session:
            act = Act(session, session.merge(self.competition), ACTOR, datetime.now(UTC))
            preparation.drop(act, number=version.number)

    def scores(self, version: ScoringVersion) -> list[float]:
        """Return the scores of the first submission under a version."""
        with self.database.read() as session:
            scores = select(Score.split, Score.score).where(
                Score.scoring_version_id == version.id, Score.submission_id == 1
            )
            found = dict(session.execute(scores).all())
        return [found[split] for split in (Split.PUBLIC, Split.PRIVATE)]

    def turned(self, number: int) -> np.ndarray:
        """Return the labels of a corrected solution."""
        labels = self.data.labels.copy()
        places = np.random.default_rng(number).integers(0, labels.size, CORRECTED_LABELS)
        labels[places] = 1 - labels[places]
        return labels

    def _competition(self) -> Competition:
        stored = stored_solutions.store_new(
            self.storage, read_solution(self._solution(None)), split_key=b"key"
        )
        with self.database.write() as session:
            return publish_competition(
                session, slug="large", title="Large", solution=stored, actor=ACTOR, now=datetime.now(UTC)
            )

    def _solution(self, number: int | None) -> bytes:
        labels = self.data.labels if number is None else self.turned(number)
        names = ["id", "target", *self.data.identities, "Usage"]
        usage = np.where(self.reference.frame["is_public"], "Public", "Private")
        columns = [self.reference.frame["id"], labels.astype(int)]
        columns += [values.astype(int) for values in self.data.identities.values()]
        rows = zip(*(column.tolist() for column in [*columns, usage]), strict=True)
        return "\n".join([",".join(names), *(",".join(map(str, row)) for row in rows)]).encode()

    def _files(self) -> Iterator[tuple[str, bytes]]:
        in_order = np.arange(files.ROWS)
        for seed in range(FILES):
            noise = np.random.default_rng(seed).normal(0, 0.02, files.ROWS)
            predictions = np.clip(self.data.predictions + noise * (seed > 0), 0, 1)
            file = files.make_file(predictions, in_order)
            yield self.storage.put(file).sha256, file if seed == 0 else b""

    def _submit(self) -> None:
        """Insert rows for submissions that are already scored."""
        at = datetime.now(UTC) - timedelta(days=1)
        ada = {"name": "ada", "name_key": "ada", "name_folded": "ada", "password_hash": "", "created_at": at}
        teams: list[dict[str, Any]] = [
            {"competition_id": self.competition.id, "name": f"T{n}", "name_key": f"t{n}", "created_at": at}
            for n in range(TEAMS)
        ]
        with self.database.write() as session:
            session.execute(insert(User), [ada | {"is_admin": False}])
            session.execute(insert(Team), teams)
            user_id = session.scalars(select(User.id)).one()
            team_ids = session.scalars(select(Team.id).where(Team.name.like("T%"))).all()
            session.execute(
                insert(Submission),
                [
                    {
                        "competition_id": self.competition.id,
                        "team_id": team_ids[number % TEAMS],
                        "user_id": user_id,
                        "sha256": self.files[number % FILES][0],
                        "size_bytes": 1,
                        "file_name": "submission.csv",
                        "status": "scored",
                        "submitted_at": at + timedelta(seconds=number),
                    }
                    for number in range(SUBMISSIONS)
                ],
            )


def seconds(call: Any, *arguments: Any) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def check(installation: Installation, version: ScoringVersion, number: int) -> None:
    """Compare the committed scores of one file with the reference for the same correction."""
    competition = installation.reference
    frame = competition.frame.assign(label=installation.turned(number) >= 0.5)
    expected = files.reference(
        installation.files[0][1],
        files.Competition(competition.row_ids, competition.splits, frame, competition.identities),
    )
    if not np.allclose(installation.scores(version), expected, rtol=0, atol=1e-12):
        raise SystemExit(
            "The results of the grader and the reference differ, so their times are not comparable."
        )


def measure(installation: Installation) -> tuple[float, float, float]:
    """Return the median times per file: reference, cold and warm, all measured in turn."""
    reference, cold, warm = [], [], []
    scorer = Scorer.of(installation.settings)
    for number in range(VERSIONS):
        version = installation.prepare(number)
        for batch in range(SUBMISSIONS // BATCH_JOBS):
            reference.append(seconds(files.reference, installation.files[0][1], installation.reference))
            taken = seconds(scorer.run_batch) / BATCH_JOBS
            if batch > 0:  # the first batch also prepares the solution
                warm.append(taken)
            elif number == 0:
                cold.append(taken)
        check(installation, version, number)
        installation.drop(version)
    return median(reference), median(cold), median(warm)


def rescore(settings: Settings) -> float:
    """Rescore everything, and return the peak memory of this process in MB."""
    scorer = Scorer.of(settings)
    while scorer.run_batch():
        pass
    # getrusage is not used because its value for children includes the parent's memory at the fork.
    [line] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line) / 1024


def peak_mb(installation: Installation, **overrides: Any) -> float:
    """Rescore everything in a separate process and return its peak memory (on Linux)."""
    version = installation.prepare(VERSIONS)
    settings = installation.settings.model_copy(update=overrides)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        peak = pool.submit(rescore, settings).result()
    installation.drop(version)
    return peak


def print_row(name: str, reference: float, ours: float, at_least: str) -> None:
    hours = ours * EXTRAPOLATED / 3600
    print(
        f"{name:<44}{1000 * reference:>8.0f} ms{1000 * ours:>8.2f} ms{reference / ours:>8.0f}x{at_least:>10}"
        f"{1 / ours:>10.0f}/s{f'{60 * hours:.1f} min':>12}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.parse_args()
    keep_freed_memory()  # as in a worker
    scoring.BATCH_SECONDS = 60  # every batch is full
    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(Path(folder))
        reference, cold, warm = measure(installation)
        peak_warm = peak_mb(installation)
        peak_cold = peak_mb(installation, rank_cache_mb=0)
        kept = [path.stat().st_size for path in installation.settings.cache().glob("ranks/*/*")]
        installation.database.dispose()
    print(
        f"{files.ROWS:,} rows x {files.IDENTITIES} identities, batches of {BATCH_JOBS}, one process, SQLite"
    )
    print(
        f"{'per file':<44}{'reference':>11}{'grader':>11}{'ratio':>9}{'at least':>10}{'rate':>12}"
        f"{f'{EXTRAPOLATED:,}':>12}"
    )
    print_row("warm: from cached ranks to committed scores", reference, warm, f"{AT_LEAST}x")
    print_row("cold: from the stored file, caching ranks", reference, cold, "")
    print(f"Peak memory of the process: {peak_warm:.0f} MB warm, {peak_cold:.0f} MB cold without a cache.")
    print(
        f"Cached ranks of one file: {median(kept) / 1e6:.2f} MB; of {EXTRAPOLATED:,} files: "
        f"{median(kept) * EXTRAPOLATED / 1e9:.0f} GB."
    )


if __name__ == "__main__":
    main()
