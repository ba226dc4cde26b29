"""Few imports in processes that restart after a kill or stay in memory; each import delays scoring."""

import json
import subprocess
import sys
from importlib.metadata import packages_distributions

import pytest

pytestmark = pytest.mark.system

SETTINGS = {
    *("pydantic", "pydantic_core", "pydantic_settings", "annotated_types", "dotenv"),
    *("typing_extensions", "typing_inspection"),
}
# The database, the settings, numpy, and their dependencies.
SCORING = SETTINGS | {"sqlalchemy", "greenlet", "psycopg", "psycopg_binary", "psutil", "numpy"}
# Celery and its dependencies, most of them optional for us.
QUEUE = {
    *("celery", "kombu", "billiard", "vine", "amqp", "redis", "async_timeout"),
    *("click", "yaml", "cffi", "dateutil", "six", "tzlocal"),
    # Celery tries to import a backport for old Python versions.
    "backports",
    # The site needs brotli; a dependency of Celery loads it if it is installed.
    *("brotli", "_brotli"),
}
STARTED = {
    "grader.worker.app": SCORING | QUEUE,
    "grader.worker.sweeper": SCORING | QUEUE | {"markupsafe"},
    "grader.cli.service, grader.supervisor.service": SETTINGS | {"click"},
    "grader.worker.checking, grader.prose.markdown": {
        *("numpy", "markdown_it", "mdit_py_plugins", "mdurl", "nh3", "markupsafe"),
    },
}


def loaded_by(module):
    """Return the installed packages that a new process loads with a module."""
    program = (
        "import json, sys; before = set(sys.modules); "
        f"import {module}; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout)} & set(packages_distributions())


@pytest.mark.parametrize("module", STARTED)
def test_restarted_process_loads_no_unneeded_package(module):
    assert loaded_by(module) - STARTED[module] - {"grader"} == set()


def test_first_file_of_a_warm_process_loads_no_package():
    program = (
        "import sys; from grader.files import RowIds, read_submission; "
        "from grader.worker.scorer import warm_up; warm_up(); before = set(sys.modules); "
        "rows = range(100_000); lines = ''.join(f'{row},0.25\\n' for row in rows); "
        "read_submission(f'id,prediction\\n{lines}'.encode(), RowIds.of(map(str, rows))); "
        "assert 'pandas' in before and set(sys.modules) == before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_web_process_loads_no_analysis_package():
    assert loaded_by("webapp") & {"pandas", "sklearn", "scipy"} == set()
