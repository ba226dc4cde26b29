"""What all tests share: fixtures, Hypothesis without a clock, which files begin, how many threads compute."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# What loads leaves no garbage, and looking for some is a sixth of the start: see `pytest_collection`.
gc.disable()

# Several processes share few cores: threads of one that wait for each other took 19 s for 0.7 s of work.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# Hypothesis looks for counterexamples here, not for a machine that is busy.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

pytest_plugins = (
    "tests.fixtures.guarded",
    "tests.fixtures.arena",
    "tests.fixtures.databases",
    "tests.fixtures.economy",
    "tests.fixtures.invariants",
    "tests.fixtures.proxy",
    "tests.fixtures.rescorings",
    "tests.fixtures.service",
    "tests.fixtures.smtp",
    "tests.fixtures.valkey",
    "tests.fixtures.web",
    "tests.fixtures.worlds",
)

# The longest first: a file is one process's, and one that comes last keeps a process alone.
LONGEST_FILES = (
    "test_walk.py",
    "test_service.py",
    "test_feedback.py",
    "test_demo.py",
    "test_kills.py",
    "test_rollout.py",
    "test_screens.py",
    "test_killed_runs.py",
    "test_broker.py",
    "test_routes.py",
    "test_nemesis.py",
    "test_administration.py",
    "test_foreign_organizers.py",
    "test_parameters.py",
    "test_switches.py",
    "test_database.py",
    "test_rescorings.py",
    "test_backup.py",
    "test_time.py",
)
PLACES = {name: place for place, name in enumerate(LONGEST_FILES)}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage from now on, but not among all that was loaded: it stays to the end."""
    result = yield
    gc.freeze()
    gc.enable()
    return result


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the longest files begin; the others keep their random order."""
    items.sort(key=lambda item: PLACES.get(item.path.name, len(PLACES)))
