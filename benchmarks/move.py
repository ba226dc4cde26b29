"""Benchmark of `fairboard migrate-to`: the downtime of a move from SQLite to PostgreSQL.

Run ``python benchmarks/move.py [--submissions 130000]``. It creates the competition of
benchmarks/leaderboard.py in a SQLite file, and moves the file to a PostgreSQL server that it starts.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import leaderboard
from sqlalchemy import func, select

from grader.db import Database
from grader.maintenance import database_copies, schema
from grader.models import Submission
from grader.settings import Settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--submissions", type=int, default=leaderboard.SUBMISSIONS)
    leaderboard.SUBMISSIONS = parser.parse_args().submissions
    with tempfile.TemporaryDirectory() as folder, leaderboard.database_url("postgresql") as url:
        settings = Settings(data_dir=Path(folder), secret_key="benchmark")
        source = Database(settings.database())
        schema.upgrade(source)
        leaderboard.fill(source, settings)
        source.dispose()
        file, begin = Path(folder) / "fairboard.db", time.perf_counter()
        print(f"{leaderboard.SUBMISSIONS:,} submissions, SQLite file of {file.stat().st_size / 1e6:,.0f} MB")
        target = Database(url or "")
        rows = database_copies.move(file, target, tell=lambda *_: None)
        seconds = time.perf_counter() - begin
        print(f"{rows:,} rows in {seconds:.0f} s, with a load average of {os.getloadavg()[0]:.1f}")
        with target.read() as session:
            assert session.scalar(select(func.count(Submission.id))) == leaderboard.SUBMISSIONS
        target.dispose()


if __name__ == "__main__":
    main()
