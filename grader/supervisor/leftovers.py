"""Find and end processes that a killed `fairboard serve` left running.

A process is one of ours if it is recorded with its start time, or if its environment carries the mark of
the data folder. Either alone has holes: Valkey overwrites its environment, and what a child starts is not
in the record.
"""

import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

MARK = "FAIRBOARD_SERVED_FROM"
START_TIME_TOLERANCE_SECONDS = 5  # the clock that start times are derived from may be adjusted
LOOK_AGAIN_SECONDS = 0.1
ROUNDS = 3

log = logging.getLogger(__name__)


def mark_of(data_dir: Path) -> str:
    """Return the value of `MARK` in the environment of everything that serves this folder."""
    return str(data_dir.resolve())


def record(data_dir: Path, pids: Iterable[int]) -> None:
    """Write down which processes serve the folder."""
    started = {}
    for pid in pids:
        try:
            started[pid] = psutil.Process(pid).create_time()
        except psutil.NoSuchProcess:
            continue
    path = _record_path(data_dir)
    draft = path.with_suffix(".draft")
    try:
        draft.write_text(json.dumps(started))
        draft.replace(path)
    except OSError as error:  # a full disk ends no service; most leftovers are known by their mark
        log.warning("The list of processes cannot be written: %s.", error)


def find(data_dir: Path) -> list[psutil.Process]:
    """Return the living processes that serve the folder, without the caller."""
    recorded = _recorded(data_dir)
    mark = mark_of(data_dir)
    return [
        process
        for process in psutil.process_iter()
        if process.pid != os.getpid() and _is_ours(process, recorded, mark)
    ]


def end(data_dir: Path, *, grace_seconds: float = 5) -> int:
    """End every process that serves the folder, by force after the grace; return how many there were."""
    count = len(find(data_dir))
    _signal_all(data_dir, psutil.Process.terminate)
    _wait_until_gone(data_dir, grace_seconds)
    for _ in range(ROUNDS):  # one that is being killed may have just started another
        if _signal_all(data_dir, psutil.Process.kill):
            _wait_until_gone(data_dir, grace_seconds)
    return count


def _signal_all(data_dir: Path, send: Callable[[psutil.Process], None]) -> bool:
    found = find(data_dir)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            send(process)
    return bool(found)


def _wait_until_gone(data_dir: Path, seconds: float) -> None:
    # Not psutil.wait_procs: for an orphan that nobody reaps it waits for ever.
    deadline = time.monotonic() + seconds
    while find(data_dir) and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_SECONDS)


def _is_ours(process: psutil.Process, recorded: dict[int, float], mark: str) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        started = recorded.get(process.pid, -math.inf)
        if abs(process.create_time() - started) < START_TIME_TOLERANCE_SECONDS:
            return True
        return bool(process.environ().get(MARK) == mark)
    except (psutil.Error, OSError):
        return False  # it has just ended, or it belongs to somebody else


def _recorded(data_dir: Path) -> dict[int, float]:
    try:
        return {int(pid): started for pid, started in json.loads(_record_path(data_dir).read_text()).items()}
    except (FileNotFoundError, ValueError):
        return {}


def _record_path(data_dir: Path) -> Path:
    return data_dir / "serve.processes"
