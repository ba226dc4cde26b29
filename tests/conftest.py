"""Configuration for all tests: fixtures, Hypothesis profile, file order, thread limits."""

import gc
import os
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.fixtures.examples import THOROUGH

# Imports create no garbage, and garbage collection takes a sixth of the startup time; see
# `pytest_collection`.
gc.disable()

# Several processes share a few cores. With threads that wait for each other, 0.7 s of work took 19 s.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Hypothesis should find counterexamples, not report a busy machine. `make test-long` repeats the
# property tests with the profile "thorough".
settings.register_profile(
    "patient", deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(THOROUGH, settings.get_profile("patient"), max_examples=100)
settings.load_profile("patient")

pytest_plugins = (
    "tests.fixtures.guarded",
    "tests.fixtures.identity_providers",
    "tests.fixtures.arena",
    "tests.fixtures.buckets",
    "tests.fixtures.counting",
    "tests.fixtures.databases",
    "tests.fixtures.economy",
    "tests.fixtures.invariants",
    "tests.fixtures.live_site",
    "tests.fixtures.pgbouncer",
    "tests.fixtures.proxy",
    "tests.fixtures.readers",
    "tests.fixtures.rescorings",
    "tests.fixtures.service",
    "tests.fixtures.smtp",
    "tests.fixtures.valkey",
    "tests.fixtures.web",
    "tests.fixtures.worlds",
)

# The tests in these folders start and kill real processes, or crawl or fuzz a whole site. They run with
# `make test-system`.
SYSTEM_FOLDERS = ("browser", "demo", "deploy", "faults", "fuzz", "kaggle_client", "sandbox", "supervisor")

# The longest files run first. Each file runs in one process, so a long one at the end would occupy only that
# process.
LONGEST_FILES = (
    "webapp/test_any_metric.py",
    "security/test_walk.py",
    "demo/test_demo.py",
    "webapp/identity/test_single_sign_on.py",
    "supervisor/test_service.py",
    "faults/test_backup_kills.py",
    "security/test_feedback.py",
    "faults/test_kills.py",
    "test_wheel.py",
    "test_delivery.py",
    "webapp/openapi/test_document.py",
    "worker/test_python_turns.py",
)
HERE = Path(__file__).parent
PLACES = {HERE / name: place for place, name in enumerate(LONGEST_FILES)}
MOVED = [str(path) for path in PLACES if not path.is_file()]
assert not MOVED, f"LONGEST_FILES in tests/conftest.py names missing files: {MOVED}"


def pytest_configure(config: pytest.Config):
    """Build the documentation unless `make install` did; routes and links under /docs need it."""
    from webapp.documentation import SITE
    from webapp.documentation.build import PROJECT, build

    if not SITE.exists() and not hasattr(config, "workerinput"):
        build(PROJECT / "docs", SITE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In each process, import only the files that `make test` or `make test-system` runs."""
    is_wanted = {"system and not long": True, "not system and not long": False}.get(config.option.markexpr)
    if is_wanted is None or collection_path.suffix not in (".py", ".md"):
        return None
    return True if _is_system(collection_path) is not is_wanted else None


@cache
def _is_system(path: Path) -> bool:
    """Return whether a file's tests belong to `make test-system`."""
    is_in_folder = path.is_relative_to(HERE) and path.relative_to(HERE).parts[0] in SYSTEM_FOLDERS
    return is_in_folder or (path.suffix == ".py" and "mark.system" in path.read_text())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Enable garbage collection, but exclude the objects loaded so far, which live until exit."""
    result = yield
    gc.freeze()
    # With the default thresholds, garbage collection takes an eighth of a page's time.
    gc.set_threshold(20_000, 5, 5)
    gc.enable()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, object, object]:
    """Mark the tests of `make test-system`, and move the longest files to the front of the random order."""
    for item in items:
        if _is_system(item.path):
            item.add_marker("system")
    result = yield
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))
    return result
