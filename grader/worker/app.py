"""Celery application, started with `celery --app grader.worker.app:celery_app worker`."""

import gc
import warnings
from datetime import timedelta
from functools import cache
from typing import Any

from celery import apps
from celery.exceptions import SecurityWarning
from celery.signals import celeryd_init, setup_logging, worker_process_init, worker_ready
from celery.utils.log import get_multiprocessing_logger
from sqlalchemy.exc import SQLAlchemyError

from fairboard import check_golden_vectors
from grader import counters, db, logs
from grader.db import Database
from grader.logs import observe
from grader.services.submissions import scoring_jobs as jobs
from grader.settings import load
from grader.worker import broker
from grader.worker.broker import BATCH_TASK, LOG_IDS, TASK, Hints, create_app
from grader.worker.processes import keep_freed_memory, limit_memory
from grader.worker.retrying import log_error
from grader.worker.scorer import Scorer, warm_up

MOST_HINTS = 1000  # the sweeper scores the remaining jobs

celery_app = create_app(load())
counters.enable(load().metrics_dir())


@celeryd_init.connect
def check_worker(**_: object) -> None:
    """Stop if there is no broker or the golden vectors differ; otherwise warm up."""
    observe("worker", load())
    apps.worker.safe_say = lambda *_, **__: None  # type: ignore[attr-defined] # it bypasses the log
    apps.worker.Worker.emit_banner = lambda *_: None  # type: ignore[method-assign] # so does this
    # The superuser's rights matter only if messages contain pickled objects.
    warnings.simplefilter("ignore", SecurityWarning)
    if load().broker_url is None:
        raise SystemExit("A worker needs FAIRBOARD_BROKER_URL, such as redis://127.0.0.1:6379/0.")
    check_golden_vectors()
    warm_up()
    gc.freeze()  # otherwise, the collection at the exit takes most of the time of a stop


@setup_logging.connect
def keep_logging(**_: object) -> None:
    """Log the deaths of processes; with this receiver, Celery configures no logging itself."""
    pool_logger: Any = get_multiprocessing_logger()
    pool_logger.propagate = True


@worker_process_init.connect
def enter_sandbox(**_: object) -> None:
    """Limit the memory of a scoring process."""
    limit_memory(load().scoring_memory_mb)
    keep_freed_memory()


@worker_ready.connect
def ask_for_what_waits(**_: object) -> None:
    """Send hints for all waiting jobs, because the hints of a killed worker are lost.

    A second hint for the same job is harmless.
    """
    database = Database(load().database(), pool_size=1)
    try:
        with database.read() as session:
            waiting = jobs.waiting(session, older_than=timedelta(), limit=MOST_HINTS, now=db.now(session))
        Hints(load()).send(waiting)
    except Exception as error:
        log_error(error, "No hints could be sent for the waiting jobs; the sweeper will find them")
    finally:
        # Scoring processes are forked later and must not share connections.
        database.dispose()


@celery_app.task(name=TASK)
def score(job_id: int) -> None:
    """Score a job unless it is done or claimed by another worker."""
    with logs.bound(**score.request.get(LOG_IDS) or {}):
        try:
            _scorer().run(int(job_id), is_python=False)
        except SQLAlchemyError as error:
            log_error(error, f"Job {job_id} could not be claimed or recorded")


@celery_app.task(name=BATCH_TASK, time_limit=load().scoring_time_limit_seconds + 1)
def score_batch() -> None:
    """Request the next rescoring batch, which a free process may score, then score one."""
    try:
        _scorer().run_batch(leave=_ask_for_next)
    except SQLAlchemyError as error:
        log_error(error, "A batch could not be claimed or recorded")


def _ask_for_next() -> None:
    try:
        broker.ask_for_batch(celery_app)
    except Exception as error:
        log_error(error, "No message for the next batch could be sent; the sweeper will send one")


@cache
def _scorer() -> Scorer:
    # The first task after the fork creates it, because processes must not share connections.
    return Scorer.of(load())
