"""What the service consists of besides Valkey: guardian, web, worker and sweeper, as command lines."""

import sys
from collections.abc import Mapping
from pathlib import Path

from grader.settings import Settings
from grader.supervisor.child import Program

# -P: whatever lies in the folder that `serve` was started from is not imported.
PYTHON = (sys.executable, "-P", "-m")
WEB_GRACE_SECONDS = 8
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def guardian(data_dir: Path, environment: Mapping[str, str]) -> Program:
    """Return the process that ends the others when the supervisor dies."""
    command = (*PYTHON, "grader.supervisor.guardian", str(data_dir))
    return Program("guardian", command, environment, grace_seconds=1, watches_us=True, outlives_others=True)


def web(settings: Settings, *, application: str, listener: int, environment: Mapping[str, str]) -> Program:
    """Return the web server, on a socket that stays open, so that no restart refuses a visitor."""
    options = {
        "bind": f"fd://{listener}",
        "worker-class": "gthread",
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
    options = ("--concurrency", str(settings.scoring_processes), "--loglevel", "WARNING")
    command = (*PYTHON, "celery", "--quiet", "--app", "grader.worker.app:celery_app", "worker", *options)
    return Program("worker", command, {**environment, **ONE_THREAD})


def sweeper(environment: Mapping[str, str]) -> Program:
    """Return the sweeper."""
    return Program("sweeper", (*PYTHON, "grader.cli", "sweeper"), {**environment, **ONE_THREAD})
