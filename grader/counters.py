"""Counters and histograms of all processes on a machine, stored in files for Prometheus.

Each running process writes to files with a number of its own, which a lock reserves until the process ends.
The next process with this number continues the counters, so no count is lost when a process is killed, and
the number of files is limited by the number of concurrent processes.
"""

import fcntl
import hashlib
import itertools
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# Files are allocated completely, because writing to a sparse memory-mapped file kills the process if the disk
# is full.
FILE_BYTES = 524_288
FILES = ("counter", "histogram")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
LONG_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0)

log = logging.getLogger(__name__)
_live: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Meter:
    """A counter, or a histogram of seconds if it has buckets.

    Without `enable`, its methods do nothing. Label values must come from a small fixed set.
    """

    name: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    def add(self, *labels: str) -> None:
        """Increase a counter by 1."""
        self._change("inc", labels, 1)

    def observe(self, seconds: float, *labels: str) -> None:
        """Add a duration to a histogram."""
        self._change("observe", labels, max(0.0, seconds))

    @contextmanager
    def timed(self, *labels: str) -> Iterator[None]:
        """Add the duration of the block to a histogram."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.observe(time.perf_counter() - start, *labels)

    def _change(self, verb: str, labels: tuple[str, ...], amount: float) -> None:
        metric = _live.get(self.name)
        if metric is None:
            return
        try:
            getattr(metric.labels(*labels) if labels else metric, verb)(amount)
        except OSError as error:
            _give_up(error)


_ENDPOINT = ("interface", "group")
HTTP_REQUESTS = Meter("fairboard_http_requests", "HTTP responses.", labels=(*_ENDPOINT, "method", "status"))
HTTP_SECONDS = Meter(
    "fairboard_http_request_seconds",
    "Time from a complete request to the start of its response.",
    labels=(*_ENDPOINT, "method"),
    buckets=SECONDS,
)
HTTP_ERRORS = Meter("fairboard_http_errors", "Error responses by error name.", labels=(*_ENDPOINT, "error"))
UPLOADS = Meter("fairboard_accepted_uploads", "Submissions accepted by this machine's web processes.")
REJECTED_FILES = Meter(
    "fairboard_rejected_files", "Rejected submissions with a problem of this code.", labels=("code",)
)
SCORING_SECONDS = Meter(
    "fairboard_scoring_seconds",
    "Duration of scoring by stage; `total` lasts from the acceptance to the result.",
    labels=("stage",),
    buckets=LONG_SECONDS,
)
HINTS = Meter("fairboard_hints", "Hints to the queue that were sent or dropped.", labels=("outcome",))
HINT_SECONDS = Meter("fairboard_hint_seconds", "Time to send a hint to the broker.", buckets=SECONDS)
CACHES = Meter("fairboard_cache_requests", "Cache hits and misses.", labels=("cache", "result"))
METERS = tuple(value for value in list(globals().values()) if isinstance(value, Meter))


def enable(metrics_dir: Path | None) -> None:
    """Count in this process and its forks from now on, unless the folder is None."""
    if metrics_dir is None:
        return
    from prometheus_client import Counter, Histogram, values

    folder = _folder(metrics_dir)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for other in metrics_dir.iterdir():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(folder)
        values.ValueClass = values.MultiProcessValue(  # type: ignore[no-untyped-call]
            lambda: _number(folder, os.getpid())
        )
        for each in METERS:
            # The files store the help text with each value, so it is added later.
            options: dict[str, Any] = {"labelnames": each.labels, "registry": None}
            if each.buckets:
                _live[each.name] = Histogram(each.name, "", buckets=each.buckets, **options)
            else:
                _live[each.name] = Counter(each.name, "", **options)
    except OSError as error:
        _give_up(error)


def collect(metrics_dir: Path) -> Iterator[Any]:
    """Yield the metrics as sums over all processes."""
    from prometheus_client.multiprocess import MultiProcessCollector

    help_of = {each.name: each.help for each in METERS}
    merge: Callable[[list[str]], Iterator[Any]] = MultiProcessCollector.merge
    for metric in merge([str(path) for path in _folder(metrics_dir).glob("*.db")]):
        metric.documentation = help_of[metric.name]
        yield metric


@cache
def _number(folder: Path, _pid: int) -> int:
    """Reserve and return the number of a process's files; a fork has another id and needs another number.

    The lock is kept until the process and its forks have ended.
    """
    for number in itertools.count():
        lock = os.open(folder / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            os.close(lock)
    for file in FILES:
        path = folder / f"{file}_{number}.db"
        if not path.exists():
            draft = path.with_suffix(".draft")
            draft.write_bytes(bytes(FILE_BYTES))
            draft.replace(path)
    return number


def _folder(metrics_dir: Path) -> Path:
    """Return a folder that depends on the meters and on the start of the machine.

    Files with other meters cannot be continued, and files may be damaged after a power failure.
    """
    boot = b""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    return metrics_dir / hashlib.sha256(repr(METERS).encode() + boot).hexdigest()[:16]


def _give_up(error: OSError) -> None:
    _live.clear()
    log.warning("The metrics of this process are not recorded: %s.", error)
