"""Celery configuration for Redis or Valkey, and hints: messages that wake a worker.

A lost hint is harmless because the sweeper finds the job. Rescorings use a queue behind that of new files.
"""

import logging
import os
import socket
import time
from collections.abc import Iterable
from typing import Any

from celery import Celery
from kombu import Queue

from grader import counters, logs
from grader.settings import Settings

# A free process takes a message of the first queue in alphabetical order.
QUEUE, BATCHES = "fairboard.scoring", "fairboard.scoring.batches"
TASK, BATCH_TASK = "fairboard.score", "fairboard.score_batch"
KEEPALIVE = {
    getattr(socket, option): value
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
    if hasattr(socket, option)  # macOS has a different name for the first option
}
LOG_IDS = "fairboard_ids"  # message header
HINT_TIMEOUT_SECONDS = 0.2
SILENT_SECONDS = 5

logger = logging.getLogger(__name__)


def create_app(settings: Settings) -> Celery:
    """Return a Celery application with these settings, identical for all brokers with the Redis protocol."""
    app = Celery("fairboard", set_as_current=False)
    app.conf.update(
        {
            "broker_url": settings.broker_url.get_secret_value() if settings.broker_url else None,
            "broker_connection_retry_on_startup": True,
            "broker_connection_max_retries": None,  # retry forever
            "broker_transport_options": {
                # A worker cannot stop during a blocking read, which ends after these seconds or with a hint.
                "polling_interval": 1,
                "queue_order_strategy": "sorted",
                # This must exceed the time limit; otherwise, running tasks would be delivered again.
                "visibility_timeout": 20 * settings.scoring_time_limit_seconds,
                "unacked_restore_interval": 10,
                "unacked_restore_throttle": 1,
                "socket_keepalive": True,  # lets workers notice that a broker has disappeared
                "socket_keepalive_options": KEEPALIVE,
            },
            "task_default_queue": QUEUE,
            "task_queues": [Queue(name, routing_key=name) for name in (QUEUE, BATCHES)],
            "task_routes": {BATCH_TASK: {"queue": BATCHES}},
            "accept_content": ["json"],
            "task_ignore_result": True,
            "task_acks_late": True,
            "task_reject_on_worker_lost": False,  # the sweeper retries and counts attempts
            "task_time_limit": settings.scoring_time_limit_seconds,
            "worker_concurrency": settings.scoring_processes,
            "worker_prefetch_multiplier": 1,
        }
    )
    return app


class Hints:
    """Sends hints from any thread; pauses for some seconds after a failure, so no caller waits long."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pid = -1
        self._silent_until = 0.0

    def send(self, job_ids: Iterable[int]) -> None:
        """Send hints for committed jobs; never raise."""
        if self._settings.broker_url is None:
            return
        if self._pid != os.getpid():  # processes share no connections
            self._app, self._pid = impatient_app(self._settings), os.getpid()
        for job_id in job_ids:
            if time.monotonic() < self._silent_until:
                counters.HINTS.add("dropped")
                continue
            try:
                with counters.HINT_SECONDS.timed():
                    self._app.send_task(TASK, [job_id], retry=False, headers={LOG_IDS: logs.ids()})
                counters.HINTS.add("sent")
            except Exception as error:
                self._silent_until = time.monotonic() + SILENT_SECONDS
                counters.HINTS.add("dropped")
                logger.warning(
                    "The broker did not accept a hint (%s); the sweeper will find the jobs of the next %s s.",
                    error,
                    SILENT_SECONDS,
                )


def ask_for_batch(app: Celery) -> bool:
    """Send a message for a rescoring batch unless one is waiting; return whether it was sent."""
    with app.producer_pool.acquire(block=True) as producer:
        channel: Any = producer.channel
        if channel.queue_declare(BATCHES).message_count:
            return False
        app.send_task(BATCH_TASK, producer=producer, retry=False)
        return True


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
