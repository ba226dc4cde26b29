"""A plugin of pytest for runs of mutants: which tests call what, nothing remembered, a bound on memory.

It needs mutmut, and is loaded by `tests.mutants.workshop` alone.
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

MEMORY = 4 << 30  # a mutant that never ends may also never stop growing
SECONDS = 15  # of the processor, beside twice what its tests took: a busy machine only makes a mutant slow

_hits: dict[pytest.FixtureDef[Any], set[str]] = {}


def pytest_configure():
    """Bound the memory, and let Hypothesis stop at the first counterexample: nobody reads the smallest."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
    settings.load_profile("mutants")
    databases = sys.modules["tests.fixtures.databases"]  # imported here it would not be rewritten by pytest
    if not isinstance(databases._migrate, MigratedOnce):
        databases._migrate = MigratedOnce(databases._migrate)


class MigratedOnce:
    """Writes the file of the first migration for all: migrating takes as long as many a mutant's tests."""

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
    """Bound the time of a mutant."""
    if "__mutmut_" in os.environ.get("MUTANT_UNDER_TEST", ""):
        took = sum(state().duration_by_test.get(item.nodeid, 0.0) for item in session.items)
        limit = int(time.process_time() + SECONDS + 2 * took)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """Forget what functions remember: mutants run in copies of a process that has run all tests."""
    for name, module in list(sys.modules.items()):
        if name.startswith("grader."):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """Note which functions a fixture of several tests calls."""
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
    """Count what such a fixture calls for each of its tests, where mutmut counts it for the first alone."""
    for found in item._fixtureinfo.name2fixturedefs.values():
        for fixturedef in found:
            state()._stats |= _hits.get(fixturedef, set())
