"""Celery's broker settings (Redis or Valkey): queues, timeouts, keepalive."""

import socket
from typing import Any

from celery import Celery

from grader.settings import Settings

QUEUE = "fairboard.scoring"
TASK = "fairboard.score"
# Of its own, with a worker of its own, so that no live score waits behind a rescoring.
RESCORING_QUEUE = "fairboard.rescoring"
RESCORING_TASK = "fairboard.rescore"
KEEPALIVE = {
    getattr(socket, option): value
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3))
    if hasattr(socket, option)  # macOS names the first one otherwise
}


def configuration(settings: Settings) -> dict[str, Any]:
    """Return Celery's settings, the same for every broker that speaks Redis' protocol."""
    return {
        "broker_url": settings.broker_url.get_secret_value() if settings.broker_url else None,
        "broker_connection_retry": True,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # a missing broker never ends the worker
        "broker_transport_options": {
            # Far past the time limit, or a long task would be delivered again while it runs.
            "visibility_timeout": 20 * settings.scoring_time_limit_seconds,
            "unacked_restore_interval": 10,
            "unacked_restore_throttle": 1,
            "socket_keepalive": True,  # or a worker would listen for hours to a broker that went silently
            "socket_keepalive_options": KEEPALIVE,
        },
        "task_default_queue": QUEUE,
        "task_routes": {RESCORING_TASK: {"queue": RESCORING_QUEUE}},
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_reject_on_worker_lost": False,  # the sweeper tries again, and counts
        "task_time_limit": settings.scoring_time_limit_seconds,
        "worker_prefetch_multiplier": 1,
        "worker_hijack_root_logger": False,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "imports": ["grader.worker.tasks"],
    }


def create_app(settings: Settings) -> Celery:
    """Return a Celery application with these settings."""
    app = Celery("fairboard", set_as_current=False)
    app.conf.update(configuration(settings))
    return app
