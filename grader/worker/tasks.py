"""Celery's tasks."""

from functools import cache

from grader.settings import load
from grader.worker.app import celery_app
from grader.worker.broker import TASK
from grader.worker.scoring import Scorer


@celery_app.task(name=TASK)
def score(job_id: int) -> None:
    """Score a job; nothing happens if it is done or somebody else's."""
    _scorer().run(int(job_id))


@cache
def _scorer() -> Scorer:
    # Made by the first task, so after the fork: connections are never shared between processes.
    return Scorer.of(load())
