"""What all tests share: fixtures, Hypothesis without a clock, which files begin, how many threads compute."""

import gc
import os
from collections.abc import Generator
from functools import cache
from pathlib import Path

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
    "tests.fixtures.ladders",
    "tests.fixtures.live_site",
    "tests.fixtures.proxy",
    "tests.fixtures.receivers",
    "tests.fixtures.rescorings",
    "tests.fixtures.service",
    "tests.fixtures.smtp",
    "tests.fixtures.valkey",
    "tests.fixtures.web",
    "tests.fixtures.worlds",
)

# Whose tests start, kill and replace real processes: they are `make test-system`.
SYSTEM_FOLDERS = ("deploy", "demo", "faults", "kaggle_client", "supervisor")

# The longest first: a file is one process's, and one that comes last keeps a process alone.
LONGEST_FILES = (
    "security/test_walk.py",
    "demo/test_demo.py",
    "supervisor/test_service.py",
    "security/test_feedback.py",
    "browser/test_every_page.py",
    "fuzz/test_parameters.py",
    "test_killed_runs.py",
    "faults/test_rollout.py",
    "faults/test_backup.py",
    "faults/test_kills.py",
    "security/test_foreign_organizers.py",
    "security/test_coarse_walk.py",
    "security/test_routes.py",
    "faults/test_nemesis.py",
    "security/test_same_answers.py",
    "browser/test_screens.py",
    "cli/test_rescore.py",
    "cli/test_administration.py",
    "security/test_fields.py",
    "faults/test_switches.py",
    "faults/test_accepting.py",
    "webapp/accounts/test_password_guesses.py",
    "faults/test_scoring.py",
    "faults/test_broker.py",
    "faults/test_rescorings.py",
    "worker/organizer_jobs/test_data_check.py",
    "worker/test_sweeper.py",
    "browser/test_upload.py",
    "browser/test_account_screens.py",
    "faults/test_time.py",
    "faults/test_database.py",
    "services/leaderboards/test_leaderboard.py",
    "webapp/leaderboards/test_pages.py",
    "services/rescoring/test_publication.py",
    "services/rescoring/test_preparation.py",
    "webapp/submissions/test_submitting.py",
)
HERE = Path(__file__).parent
PLACES = {HERE / name: place for place, name in enumerate(LONGEST_FILES)}
MOVED = [str(path) for path in PLACES if not path.is_file()]
assert not MOVED, f"LONGEST_FILES in tests/conftest.py names files that are not there: {MOVED}"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only the files that `make test` or `make test-system` runs: each process would import all."""
    is_wanted = {"system and not long": True, "not system and not long": False}.get(config.option.markexpr)
    if is_wanted is None or collection_path.suffix not in (".py", ".md"):
        return None
    return True if _is_system(collection_path) is not is_wanted else None


@cache
def _is_system(path: Path) -> bool:
    """Return whether a file's tests start, kill and replace real processes."""
    is_in_folder = path.is_relative_to(HERE) and path.relative_to(HERE).parts[0] in SYSTEM_FOLDERS
    return is_in_folder or (path.suffix == ".py" and "mark.system" in path.read_text())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for garbage from now on, but not among all that was loaded: it stays to the end."""
    result = yield
    gc.freeze()
    gc.set_threshold(20_000, 5, 5)  # the default takes an eighth of the time of a page
    gc.enable()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, object, object]:
    """Mark the tests of real processes. Let the longest files begin; the others keep their random order."""
    for item in items:
        if _is_system(item.path):
            item.add_marker("system")
    result = yield
    items.sort(key=lambda item: PLACES.get(item.path, len(PLACES)))
    return result
