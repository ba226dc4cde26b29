"""The Celery application: `celery --app grader.worker.app:celery_app worker` runs it."""

from typing import Any

from celery.signals import celeryd_init, task_prerun, worker_process_init, worker_ready

from grader.metrics import check_golden_vectors
from grader.settings import load
from grader.worker import startup_hints
from grader.worker.broker import QUEUE, create_app
from grader.worker.process import stopping
from grader.worker.process.limits import limit_memory


@celeryd_init.connect
def check_worker(**_: object) -> None:
    """Refuse to start a worker that could not hear, or whose arithmetic differs from everybody's."""
    if load().broker_url is None:
        raise SystemExit("A worker needs FAIRBOARD_BROKER_URL, such as redis://127.0.0.1:6379/0.")
    check_golden_vectors()


@worker_process_init.connect
def enter_sandbox(**_: object) -> None:
    """Limit the memory of a scoring process, and let it hand back what it has when it is to end."""
    limit_memory(load().scoring_memory_mb)
    # With its first task: the pool sets a handler of its own after this.
    task_prerun.connect(lambda **_: stopping.end_on_request(), weak=False)


@worker_ready.connect
def ask_for_what_waits(sender: Any, **_: object) -> None:
    """Hint at every job that waits: a worker that was killed took the hints it had with it."""
    if QUEUE in sender.app.amqp.queues.consume_from:
        startup_hints.hint_at_all(load(), sender.app)


celery_app = create_app(load())
