"""Resources that a site needs for a competition, computed from measured costs.

`benchmarks/capacity.py` compares the results with a running site. benchmarks/README.md lists the
measurements.
"""

import math
import time
from dataclasses import dataclass

import numpy as np

# CPU time in seconds on the reference machine: a fixed part, and a part per row of the file.
UPLOAD_SECONDS, UPLOAD_SECONDS_PER_ROW = 0.0224, 0.080e-6
SCORE_SECONDS, SCORE_SECONDS_PER_ROW = 0.0237, 0.263e-6
POSTGRESQL_SECONDS = 0.025  # per submission, in the server and its clients
PAGE_SECONDS = 0.006  # the median of the measured pages, with the web server
IDLE_CORES = 0.015
CALIBRATION_SECONDS = 0.0255  # `calibrate` on the reference machine
UTILIZATION = 0.6  # a higher utilization makes uploads wait

FILE_BYTES_PER_ROW = 18.7  # an id and a prediction with nine decimals
RANK_BYTES_PER_ROW = 4
PAGE_BYTES = 15_000  # a compressed leaderboard page
DATABASE_BYTES, BYTES_PER_TEAM, BYTES_PER_SUBMISSION = 8e6, 1_500, 5_500
BACKUPS = 7

MEGABYTE = 1_000_000
BASE_BYTES = 680 * MEGABYTE  # supervisor, rescorer, sweeper, queue, and their idle children
WEB_BYTES, SCORER_BYTES = 95 * MEGABYTE, 85 * MEGABYTE
SCORER_BYTES_PER_ROW = 350  # the solution, a file and its ranks
CACHED_BYTES_PER_TEAM = 2_400  # leaderboards that each web process keeps
CONNECTION_BYTES, POSTGRESQL_BYTES = 6 * MEGABYTE, 200 * MEGABYTE

WEB_THREADS = 16
SWEEPER_CONNECTIONS = 14
OTHER_CONNECTIONS = 12  # children of the sweeper, the rescorer, the main processes of workers, and commands
SQLITE_UPLOADS_PER_MINUTE = 40 * 60  # measured with eight writers


@dataclass(frozen=True, slots=True)
class Load:
    """The expected use: a competition's size, and the busiest minute."""

    teams: int
    rows: int
    uploads_per_minute: float
    views_per_minute: float
    submissions: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """Required resources; sizes in bytes, network rates in bits per second."""

    upload_cpu_seconds: float
    score_cpu_seconds: float
    cores: int
    web_processes: int
    scoring_processes: int
    needs_postgresql: bool
    connections: int
    memory_bytes: int
    blob_bytes: int
    database_bytes: int
    rank_cache_bytes: int
    backup_bytes: int
    disk_bytes: int
    received_bits_per_second: int
    sent_bits_per_second: int


def of(load: Load, *, slowness: float = 1.0) -> Capacity:
    """Return the resources for a load on CPUs that are `slowness` times as slow as the reference machine."""
    upload = slowness * (UPLOAD_SECONDS + load.rows * UPLOAD_SECONDS_PER_ROW)
    score = slowness * (SCORE_SECONDS + load.rows * SCORE_SECONDS_PER_ROW)
    uploads, views = load.uploads_per_minute / 60, load.views_per_minute / 60
    web, scoring = uploads * upload + views * slowness * PAGE_SECONDS, uploads * score
    web_processes, scorers = (max(2, math.ceil(busy / UTILIZATION)) for busy in (web, scoring))
    needs_postgresql = load.uploads_per_minute > SQLITE_UPLOADS_PER_MINUTE
    database_cores = uploads * slowness * POSTGRESQL_SECONDS if needs_postgresql else 0
    connections = web_processes * WEB_THREADS + scorers + SWEEPER_CONNECTIONS + OTHER_CONNECTIONS
    memory = (
        BASE_BYTES
        + web_processes * (WEB_BYTES + load.teams * CACHED_BYTES_PER_TEAM)
        + scorers * (SCORER_BYTES + load.rows * SCORER_BYTES_PER_ROW)
        + (POSTGRESQL_BYTES + connections * CONNECTION_BYTES if needs_postgresql else 0)
    )
    blobs = load.submissions * load.rows * FILE_BYTES_PER_ROW
    database = DATABASE_BYTES + load.teams * BYTES_PER_TEAM + load.submissions * BYTES_PER_SUBMISSION
    ranks = load.submissions * load.rows * RANK_BYTES_PER_ROW
    backups = blobs + BACKUPS * database
    return Capacity(
        upload_cpu_seconds=upload,
        score_cpu_seconds=score,
        cores=max(1, math.ceil((web + scoring + database_cores + IDLE_CORES) / UTILIZATION)),
        web_processes=web_processes,
        scoring_processes=scorers,
        needs_postgresql=needs_postgresql,
        connections=connections,
        memory_bytes=math.ceil(memory),
        blob_bytes=math.ceil(blobs),
        database_bytes=math.ceil(database),
        rank_cache_bytes=math.ceil(ranks),
        backup_bytes=math.ceil(backups),
        disk_bytes=math.ceil(blobs + database + ranks),
        received_bits_per_second=math.ceil(8 * uploads * load.rows * FILE_BYTES_PER_ROW),
        sent_bits_per_second=math.ceil(8 * views * PAGE_BYTES),
    )


def calibrate() -> float:
    """Return the CPU time of a fixed computation relative to the reference machine; more is slower.

    The computation sorts numbers and parses text, like the scoring of a file. It takes a tenth of a second.
    """
    numbers = np.random.default_rng(1).random(100_000)
    text = "\n".join(map(repr, numbers[:20_000].tolist()))
    times = []
    for _ in range(5):
        begin = time.process_time()
        for _ in range(3):
            np.argsort(numbers, kind="stable")
        sum(map(float, text.split()))
        times.append(time.process_time() - begin)
    return max(min(times), 1e-9) / CALIBRATION_SECONDS
