"""When a worker starts, send queue messages for all waiting jobs."""

from datetime import timedelta

from celery import Celery

from grader import db
from grader.db import Database
from grader.services.scoring import jobs
from grader.settings import Settings
from grader.worker.broker import TASK
from grader.worker.process.retrying import tell_of

MOST = 1000  # of more the sweeper takes the rest, and no worker is short of work


def hint_at_all(settings: Settings, app: Celery) -> None:
    """Send a hint for every job that waits; a second hint at the same job does nothing."""
    database = Database(settings.database(), pool_size=1)
    try:
        with database.read() as session:
            waiting = jobs.waiting(
                session, older_than=timedelta(), limit=MOST, now=db.now(session), with_rescorings=False
            )
        for job_id in waiting:
            app.send_task(TASK, [job_id], retry=False, ignore_result=True)
    except Exception as error:  # the sweeper finds them all
        tell_of(error, "What waits could not be hinted at; the sweeper will find it")
    finally:
        database.dispose()  # before a scoring process is forked: connections are never shared
