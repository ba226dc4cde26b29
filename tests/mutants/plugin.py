"""Pytest plugin for mutants: recorded calls, cleared caches, resource limits.

It requires mutmut. Only `tests.mutants.workshop` loads it.
"""

import functools
import os
import resource
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from mutmut.state import state
from sqlalchemy import make_url

# A mutant that never terminates may also allocate memory endlessly.
MEMORY = 4 << 30
# CPU time in addition to twice the duration of its tests. CPU time does not depend on the machine's load.
SECONDS = 15

_hits: dict[pytest.FixtureDef[Any], set[str]] = {}


def pytest_configure():
    """Limit the memory and disable shrinking in Hypothesis, because no one reads the examples."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
    # An import here would prevent pytest from rewriting the module.
    databases = sys.modules["tests.fixtures.databases"]
    if not isinstance(databases._migrate, MigratedOnce):
        databases._migrate = MigratedOnce(databases._migrate)


class MigratedOnce:
    """Copies the first migrated database for all tests, because a migration is slow."""

    def __init__(self, migrate: Callable[[str], None]):
        self._migrate = migrate
        self._file = b""

    def __call__(self, url: str):
        path = Path(make_url(url).database or "")
        if not self._file:
            self._migrate(url)
            self._file = path.read_bytes()
        path.write_bytes(self._file)


def pytest_collection_finish(session: pytest.Session):
    """Limit the CPU time of a mutant."""
    if "__mutmut_" in os.environ.get("MUTANT_UNDER_TEST", ""):
        took = sum(state().duration_by_test.get(item.nodeid, 0.0) for item in session.items)
        limit = int(time.process_time() + SECONDS + 2 * took)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Clear the caches of functions: mutants run in copies of a process that has run all tests."""
    for name, module in list(sys.modules.items()):
        if name.startswith("grader."):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Record the functions that a shared fixture calls."""
    if fixturedef.scope == "function":
        return (yield)
    called = state()._stats
    before = set(called)
    called.clear()
    try:
        return (yield)
    finally:
        _hits[fixturedef] = set(called)
        called |= before


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Function):
    """Attribute the calls that a shared fixture makes to every test that uses it.

    Without this hook mutmut counts them for the first test only.
    """
    for found in item._fixtureinfo.name2fixturedefs.values():
        for fixturedef in found:
            state()._stats |= _hits.get(fixturedef, set())
