"""What the processes load that start again after a kill: each import is time that a score waits for."""

import json
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

# The database, the settings, the arithmetic, and what they need themselves.
SCORING = {
    *("sqlalchemy", "greenlet", "psycopg", "psycopg_binary", "psutil", "numpy"),
    *("pydantic", "pydantic_core", "pydantic_settings", "annotated_types", "dotenv"),
    *("typing_extensions", "typing_inspection"),
}
# Celery's, most of them its own choice.
QUEUE = {
    *("celery", "kombu", "billiard", "vine", "amqp", "redis", "async_timeout"),
    *("click", "yaml", "cffi", "dateutil", "six", "tzlocal"),
    "backports",  # which it looks into for a module of old Pythons
    *("brotli", "_brotli"),  # which the site needs, and it offers where it is installed
}
STARTED = {
    "grader.worker.children.job_program": SCORING,
    "grader.worker.app": SCORING | QUEUE,
    "grader.worker.sweeper": SCORING | {"markupsafe"},
    "grader.worker.children.check_program": {"numpy", "psutil"},
    "grader.worker.children.format_program": {
        *("markdown_it", "mdit_py_plugins", "mdurl", "nh3", "markupsafe", "psutil"),
    },
}


def loaded_by(module: str) -> set[str]:
    """Return the installed packages that a fresh process loads with a module."""
    program = (
        "import json, sys; before = set(sys.modules); "
        f"import {module}; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)} & set(packages_distributions())


@pytest.mark.parametrize("module", STARTED)
def test_a_process_that_starts_again_loads_no_package_that_it_does_not_need(module: str):
    assert loaded_by(module) - STARTED[module] - {"grader"} == set()


def test_a_web_process_loads_no_package_that_only_analyses_need():
    assert loaded_by("webapp") & {"pandas", "sklearn", "scipy", "fastparquet"} == set()
