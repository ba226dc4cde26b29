"""Celery tasks: score a submission, score a batch of a rescoring."""

import os
from functools import cache

from sqlalchemy.exc import SQLAlchemyError

from grader.settings import load
from grader.worker.app import celery_app
from grader.worker.broker import RESCORING_TASK, TASK
from grader.worker.hints import Hints
from grader.worker.process.retrying import tell_of
from grader.worker.scoring.batch_scorer import NICENESS, BatchScorer, time_limit_seconds
from grader.worker.scoring.scorer import Scorer


@celery_app.task(name=TASK)
def score(job_id: int) -> None:
    """Score a job; do nothing if it is done or another worker has it."""
    try:
        if _scorer().run(int(job_id)) and (following := _scorer().next_in_turn(int(job_id))):
            _hints().send(following)
    except SQLAlchemyError as error:
        tell_of(error, f"Job {job_id} could not be claimed or recorded")


@celery_app.task(name=RESCORING_TASK, time_limit=time_limit_seconds(load()))
def rescore(scoring_version_id: int) -> None:
    """Score one batch of a scoring version, and hint at the next one while there is something to do."""
    try:
        has_done_something = _batch_scorer().run(int(scoring_version_id))
    except SQLAlchemyError as error:
        tell_of(error, f"A batch of scoring version {scoring_version_id} could not be claimed or recorded")
    else:
        if has_done_something:
            _hints().send_rescoring(int(scoring_version_id))


# Made by the first task, so after the fork: connections are never shared between processes.


@cache
def _scorer() -> Scorer:
    return Scorer.of(load())


@cache
def _batch_scorer() -> BatchScorer:
    os.nice(NICENESS)
    return BatchScorer.of(load())


@cache
def _hints() -> Hints:
    return Hints(load())
