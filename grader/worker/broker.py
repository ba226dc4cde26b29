"""Celery configuration for Redis or Valkey, and hints: messages that wake a worker.

A lost hint is harmless because the sweeper finds the job.
"""

import logging
import os
import queue
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from celery import Celery

from grader import counters, logs
from grader.settings import Settings

QUEUE = "fairboard.scoring"
TASK = "fairboard.score"
KEEPALIVE = {
    getattr(socket, option): value
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
    if hasattr(socket, option)  # macOS has a different name for the first option
}
LOG_IDS = "fairboard_ids"  # message header
HINT_TIMEOUT_SECONDS = 0.2
MAX_WAITING = 10_000

Hint = tuple[int, dict[str, Any]]  # the id of a job, and ids for the log

logger = logging.getLogger(__name__)


def configuration(settings: Settings) -> dict[str, Any]:
    """Return the Celery configuration, identical for all brokers with the Redis protocol."""
    return {
        "broker_url": settings.broker_url.get_secret_value() if settings.broker_url else None,
        "broker_connection_retry": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # retry forever
        "broker_transport_options": {
            # A worker cannot stop during a blocking read, which ends after this many seconds or with a hint.
            "polling_interval": 1,
            # This must exceed the time limit; otherwise, running tasks would be delivered again.
            "visibility_timeout": 20 * settings.scoring_time_limit_seconds,
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "socket_keepalive": True,  # lets workers notice that a broker has disappeared
            "socket_keepalive_options": KEEPALIVE,
        },
        "task_default_queue": QUEUE,
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": False,  # the sweeper retries and counts attempts
        "task_time_limit": settings.scoring_time_limit_seconds,
        "worker_concurrency": settings.scoring_processes,
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
    }


def create_app(settings: Settings) -> Celery:
    """Return a Celery application with these settings."""
    app = Celery("fairboard", set_as_current=False)
    app.conf.update(configuration(settings))
    return app


class Hints:
    """Sends hints from one thread per process; callers are never delayed, and nothing is retried."""

    def __init__(self, settings: Settings, *, max_waiting: int = MAX_WAITING) -> None:
        self._settings = settings
        self._max_waiting = max_waiting
        self._thread: threading.Thread | None = None
        self._start_afresh()

    def send(self, job_ids: Iterable[int]) -> None:
        """Queue hints for committed jobs; return immediately and never raise."""
        if self._settings.broker_url is None:
            return
        if self._pid != os.getpid():
            self._start_afresh()
        self._ensure_thread()
        passed = logs.passed_on()
        with suppress(queue.Full):
            for job_id in job_ids:
                self._waiting.put_nowait((job_id, passed))

    def close(self, *, timeout_seconds: float = 2) -> None:
        """Wait briefly until queued hints are sent; short-lived commands call this before they end."""
        if self._thread is not None and self._pid == os.getpid():
            self._waiting.put(None)
            self._thread.join(timeout_seconds)
            self._thread = None

    def _start_afresh(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: queue.Queue[Hint | None] = queue.Queue(self._max_waiting)
        self._thread = None

    def _ensure_thread(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._publish, name="hints", daemon=True)
                self._thread.start()

    def _publish(self) -> None:
        app, waiting = impatient_app(self._settings), self._waiting
        while (hint := waiting.get()) is not None:
            job_id, passed = hint
            try:
                with counters.HINT_SECONDS.timed():
                    app.send_task(TASK, [job_id], retry=False, ignore_result=True, headers={LOG_IDS: passed})
                counters.HINTS.add("sent")
            except Exception as error:
                dropped = 1 + _drain(waiting)
                counters.HINTS.add("dropped", amount=dropped)
                logger.warning(
                    "The broker did not accept %s hints (%s); the sweeper will find their jobs.",
                    dropped,
                    error,
                )


def _drain(waiting: "queue.Queue[Hint | None]") -> int:
    """Drop all waiting hints after the broker has failed; return their number."""
    dropped = 0
    with suppress(queue.Empty):
        while (hint := waiting.get_nowait()) is not None:
            dropped += 1
        waiting.put(hint)  # keep the end marker in the queue
    return dropped


def impatient_app(settings: Settings) -> Celery:
    """Return an application that fails quickly if the broker does not respond."""
    app = create_app(settings)
    app.conf.broker_connection_timeout = HINT_TIMEOUT_SECONDS
    app.conf.broker_transport_options |= {
        "socket_timeout": HINT_TIMEOUT_SECONDS,
        "socket_connect_timeout": HINT_TIMEOUT_SECONDS,
        "max_retries": 0,
    }
    return app
