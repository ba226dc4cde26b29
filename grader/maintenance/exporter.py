"""Prometheus exporter: counters of all processes, and the state of the site."""

import logging
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

from grader import counters, db
from grader.db import Database
from grader.services.site import backup_runs, monitoring
from grader.services.site.monitoring import Reading
from grader.settings import Settings
from grader.storage import disk

# The client would retry ten times by default, while a request waits.
PATIENCE = {"socket_timeout": 0.2, "socket_connect_timeout": 0.2, "retry": Retry(NoBackoff(), 0)}

log = logging.getLogger(__name__)


class Exporter:
    """The metrics of an installation."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings, self._database = settings, database

    def text(self) -> bytes:
        """Return all metrics."""
        from prometheus_client import generate_latest

        return generate_latest(self)

    def collect(self) -> Iterator[Any]:
        """Yield the metrics for `generate_latest`."""
        from prometheus_client.core import GaugeMetricFamily

        if folder := self._settings.metrics_dir():
            yield from counters.collect(folder)
        for each in (*self._of_database(), *self._of_broker(), *self._of_disks()):
            family = GaugeMetricFamily(each.name, each.help, labels=each.labels)
            for labels, value in each.values.items():
                family.add_metric(labels, value)
            yield family

    def _of_database(self) -> Iterator[Reading]:
        start, readings = time.perf_counter(), list[Reading]()
        try:
            with self._database.read() as session:
                now, last = db.now(session), backup_runs.last_success(session)
                readings = monitoring.gauges(session, now=now)
        except Exception as error:
            if not db.is_unavailable(error):
                raise
            log.warning("The database could not be read for the metrics: %s", error)
        yield _single("fairboard_database_up", "Whether the database responds.", bool(readings))
        if not readings:
            return
        seconds = time.perf_counter() - start
        yield _single("fairboard_state_read_seconds", "Time to read the site's state.", seconds)
        if last is not None or self._settings.backup_target is not None:
            age = math.inf if last is None else (now - last.started_at).total_seconds()
            yield _single("fairboard_backup_age_seconds", "Age of the newest complete backup.", age)
            interval = self._settings.backup_interval().total_seconds()
            yield _single("fairboard_backup_interval_seconds", "Maximum planned age of a backup.", interval)
        yield from readings

    def _of_broker(self) -> Iterator[Reading]:
        if (url := self._settings.redis_url()) is None:
            return
        seconds = 0.0
        with suppress(RedisError):
            seconds = ping(url)
        yield _single("fairboard_broker_up", "Whether the broker responds.", bool(seconds))
        if seconds:
            yield _single("fairboard_broker_ping_seconds", "Time to connect and ping.", seconds)

    def _of_disks(self) -> Iterator[Reading]:
        free, size = {}, {}
        for name, folder in zip(("data", "blobs"), disk.folders(self._settings), strict=False):
            usage = disk.usage(folder)
            free[name,], size[name,] = usage.free, usage.total
        yield Reading("fairboard_disk_free_bytes", "Free space of the folder's disk.", ("folder",), free)
        yield Reading("fairboard_disk_size_bytes", "Size of the folder's disk.", ("folder",), size)
        reserve = self._settings.disk_reserve_mb * 1_000_000
        yield _single("fairboard_disk_reserve_bytes", "Free space below which uploads are rejected.", reserve)


def ping(url: str) -> float:
    """Return the time in which the broker responds; raise RedisError."""
    start = time.perf_counter()
    with Redis.from_url(url, **PATIENCE) as redis:
        redis.ping()
    return time.perf_counter() - start


def _single(name: str, words: str, value: float) -> Reading:
    return Reading(name, words, values={(): float(value)})
