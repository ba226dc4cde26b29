"""Sweeper loop, which forks a process for each lane with work.

Jobs are rows. A forked process claims its own rows, so any process may be killed at any time.
"""

import gc
import logging
import os
import signal
import sys
import time
from collections import Counter
from multiprocessing import connection, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import configure_mappers

from fairboard import check_golden_vectors
from grader import counters, db
from grader.db import Database
from grader.logs import observe
from grader.services.site import leased_rows
from grader.settings import Settings
from grader.text import counted
from grader.worker import processes
from grader.worker.lanes import Lane, Turn, all_lanes
from grader.worker.processes import end_with
from grader.worker.retrying import log_error

# Together with the time needed to end, this must be shorter than the supervisor's grace period.
STOP_GRACE_SECONDS = 3
LOOK_SECONDS = 1.0

logger = logging.getLogger(__name__)


class Sweeper:
    """Forks turns of lanes until it is stopped; it has no threads, and no connection is open at a fork."""

    def __init__(self, settings: Settings, lanes: list[Lane], *, heartbeat: Path | None = None) -> None:
        self._settings, self._lanes, self._heartbeat = settings, lanes, heartbeat
        self._database = Database(settings.database(), pool_size=1)
        self._turns: dict[BaseProcess, tuple[Lane, Any]] = {}
        self._look_at = {lane.name: time.monotonic() + lane.first_after_seconds for lane in lanes}
        self._is_stopped = False

    def stop(self, *_: object) -> None:
        """End `run` within a second; safe in a signal handler."""
        self._is_stopped = True

    def run(self) -> None:
        """Sweep until `stop` is called; running turns have a short time to end, and then are killed."""
        while not self._is_stopped:
            try:
                for lane, subject in self._due():
                    self._fork(lane, subject)
                if self._heartbeat is not None:
                    self._heartbeat.touch()
            except Exception as error:  # the loop must not die
                log_error(error, "The sweeper could not look for work; it continues")
            self._wait(min(LOOK_SECONDS, self._settings.sweep_interval_seconds()))
        end = time.monotonic() + STOP_GRACE_SECONDS
        for process in self._turns:
            process.terminate()
        while self._turns and (left := end - time.monotonic()) > 0:
            self._wait(left)
        for process in self._turns:
            process.kill()
            process.join()
        if self._turns:
            try:
                self._free_claims()
            except Exception as error:
                log_error(error, "The claims of killed processes wait until their leases end")
        self._database.dispose()

    def _due(self) -> list[tuple[Lane, Any]]:
        """Return the lanes with work, and the subject of each."""
        moment, busy = time.monotonic(), Counter(lane.name for lane, _ in self._turns.values())
        idle = [each for each in self._lanes if self._look_at[each.name] <= moment]
        idle = [each for each in idle if busy[each.name] < each.at_once]
        with self._database.read() as session:
            now = db.now(session)
            conditions = [leased_rows.are_held(now), *(each.is_due(now) for each in idle)]
            are_held, *are_due = session.execute(select(*conditions)).one()
        if are_held and self._free_claims():
            return self._due()
        for each in idle:
            self._look_at[each.name] = moment + each.every_seconds
        due = [each for each, is_due in zip(idle, are_due, strict=True) if is_due]
        if not due:
            return []
        subjects = [subject for _, subject in self._turns.values()]
        with self._database.read() as session:
            taken = [(each, each.take(session, now, busy=subjects)) for each in due]
        return [(lane, subject) for lane, subject in taken if subject]

    def _free_claims(self) -> bool:
        """Release the claims of dead processes of this machine; return whether there were any."""
        with self._database.read() as session:
            holders = leased_rows.holders(session, machine=processes.machine(), now=db.now(session))
        gone, count = set(filter(processes.is_gone, holders)), 0
        if gone:
            with self._database.write() as session:
                count = leased_rows.free(session, holders=gone, now=db.now(session))
        if count:
            self._look_at = dict.fromkeys(self._look_at, 0.0) | {"storage": self._look_at["storage"]}
            are = "was" if count == 1 else "were"
            logger.warning("%s of dead processes %s released.", counted(count, "claim"), are)
        return count > 0

    def _fork(self, lane: Lane, subject: Any) -> None:
        self._database.dispose()  # processes must not share connections
        process = get_context("fork").Process(target=self._take_turn, args=(lane, subject, os.getpid()))
        try:
            process.start()
        except OSError as error:  # memory or process ids may be exhausted temporarily
            log_error(error, f"No process of the lane {lane.name} could be started")
        else:
            self._turns[process] = lane, subject

    def _take_turn(self, lane: Lane, subject: Any, parent: int) -> None:
        """Run a turn in the forked process; its exit code is the result."""
        turn = Turn(self._settings, subject)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
        signal.signal(signal.SIGTERM, lambda *_: setattr(turn, "is_stopped", True))
        end_with(parent)
        os.nice(lane.niceness)
        observe(lane.name, self._settings)
        try:
            code = lane.run(turn)
        except Exception as error:
            log_error(error, f"A turn of the lane {lane.name} failed")
            code = 0
        sys.exit(code)

    def _wait(self, seconds: float) -> None:
        """Wait for the end of a turn."""
        connection.wait([each.sentinel for each in self._turns], seconds)
        for process in [each for each in self._turns if not each.is_alive()]:
            lane, subject = self._turns.pop(process)
            code = process.exitcode or 0
            process.close()
            lane.end(subject, code)
            if code > 0:  # there may be more work
                self._look_at[lane.name] = 0.0
            elif code < 0 and not self._is_stopped:
                logger.warning(
                    "A turn of the lane %s was killed by %s.", lane.name, signal.Signals(-code).name
                )


def sweep_until_told_to_stop(settings: Settings, *, heartbeat: Path | None = None) -> None:
    """Sweep until SIGTERM or SIGINT.

    For health checks, the file `heartbeat` is touched after each successful database query.
    """
    counters.enable(settings.metrics_dir())
    check_golden_vectors()
    configure_mappers()  # pandas would take 20 MB of an idle sweeper
    sweeper = Sweeper(settings, all_lanes(settings), heartbeat=heartbeat)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, sweeper.stop)
    gc.collect()
    gc.freeze()  # collections in forked processes would copy the memory that they share
    sweeper.run()
