"""Command lines of the supervised programs: guardian, web, workers and sweeper."""

import sys
from collections.abc import Mapping
from pathlib import Path

from grader.settings import Settings
from grader.supervisor.supervisor import Program
from grader.worker.broker import QUEUE, RESCORING_QUEUE

# -P: whatever lies in the folder that `serve` was started from is not imported.
PYTHON = (sys.executable, "-P", "-m")
WEB_GRACE_SECONDS = 8
WEB_WORKER = "webapp.server.worker.Worker"  # named, not imported: the arrows point down
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def guardian(data_dir: Path, environment: Mapping[str, str]) -> Program:
    """Return the process that ends the others when the supervisor dies."""
    command = (*PYTHON, "grader.supervisor.guardian", str(data_dir))
    return Program("guardian", command, environment, grace_seconds=1, watches_us=True, outlives_others=True)


def web(settings: Settings, *, application: str, listener: int, environment: Mapping[str, str]) -> Program:
    """Return the web server, on a socket that stays open, so that no restart refuses a visitor."""
    options = {
        "bind": f"fd://{listener}",
        "worker-class": WEB_WORKER,
        "workers": settings.web_workers,
        "threads": settings.web_threads,
        "graceful-timeout": WEB_GRACE_SECONDS,
        "log-level": "warning",
    }
    flags = tuple(part for name, value in options.items() for part in (f"--{name}", str(value)))
    command = (*PYTHON, "gunicorn", application, *flags, "--no-control-socket")
    return Program("web", command, environment, pass_fds=(listener,), grace_seconds=WEB_GRACE_SECONDS + 2)


def worker(settings: Settings, environment: Mapping[str, str]) -> Program:
    """Return the Celery worker with its scoring processes."""
    return _celery("worker", environment, queue=QUEUE, processes=settings.scoring_processes)


def rescorer(environment: Mapping[str, str]) -> Program:
    """Return the Celery worker of rescorings, which live scoring never waits for."""
    return _celery("rescorer", environment, queue=RESCORING_QUEUE, processes=1)


def sweeper(environment: Mapping[str, str]) -> Program:
    """Return the sweeper."""
    return Program("sweeper", (*PYTHON, "grader.cli", "sweeper"), {**environment, **ONE_THREAD})


def _celery(name: str, environment: Mapping[str, str], *, queue: str, processes: int) -> Program:
    options = {"hostname": f"{name}@%h", "queues": queue, "concurrency": processes, "loglevel": "WARNING"}
    flags = tuple(part for option, value in options.items() for part in (f"--{option}", str(value)))
    # Workers need not know of each other: the row is the job. Asking around takes a second of every start.
    flags += ("--without-gossip", "--without-mingle")
    command = (*PYTHON, "celery", "--quiet", "--app", "grader.worker.app:celery_app", "worker", *flags)
    return Program(name, command, {**environment, **ONE_THREAD})
