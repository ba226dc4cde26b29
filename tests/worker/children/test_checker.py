"""File checks in a child process: results, time and memory limits, time shares, isolation."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from grader.files import RowIds
from grader.worker.children import checker as checking
from grader.worker.children.checker import Checker, CheckerResult
from grader.worker.process import shares
from grader.worker.process.child import without_secrets
from grader.worker.process.shares import ShareUsed
from tests.fixtures.patience import HANG_SECONDS

pytestmark = pytest.mark.system

IDS = RowIds.of(f"r{place}" for place in range(3))
CLEAN = b"id,prediction\nr2,0.1\nr0,0.2\nr1,0.3\n"


def row_ids() -> BinaryIO:
    return BytesIO(IDS.to_bytes())


@pytest.fixture
def checker(make_settings: Callable[..., Any]) -> Iterator[Checker]:
    checker = Checker(make_settings(scoring_memory_mb=1024), wait_seconds=0.2)
    yield checker
    checker.close()


@pytest.fixture(params=["sqlite"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'unused.db'}"  # These tests need no database.


def check(checker: Checker, file: bytes, name: str = "a" * 64, who: int = 1) -> CheckerResult | None:
    return checker.check(BytesIO(file), row_ids_sha256=name, open_row_ids=row_ids, who=who)


def test_same_child_checks_clean_files_one_after_another(checker: Checker):
    assert check(checker, CLEAN) == CheckerResult([], [])
    child = checker._child.process
    told = check(checker, CLEAN.replace(b"0.3", b"3"))
    assert told is not None and [note["code"] for note in told.notes] == ["outside_unit_interval"]
    assert checker._child.process is child


def test_all_problems_are_reported_together(checker: Checker):
    told = check(checker, b"id,prediction\nr0,nan\nx,1\n")
    assert told is not None
    assert [problem["code"] for problem in told.problems] == [
        "nan_prediction",
        "unknown_id",
        "missing_row_id",
    ]


def test_columns_of_other_labels_are_recognized_per_file(checker: Checker):
    file = b"id,prediction,insult\nr2,0.1,\nr0,0.2,x\nr1,0.3,\n"
    ids = {"row_ids_sha256": "a", "open_row_ids": row_ids, "who": 1}
    # These names do not fit into one message of the socket.
    many = [f"obscène {number}" for number in range(20_000)]
    for names in (["insult"], [*many, "insult"]):
        told = checker.check(BytesIO(file), other_labels=names, **ids)
        assert told is not None and [note["code"] for note in told.notes] == ["columns_not_read"]
    told = checker.check(BytesIO(file), **ids)
    assert told is not None and [each["code"] for each in told.problems] == ["unexpected_column"]


def test_files_are_checked_as_the_metric_reads_them(checker: Checker):
    ids = {"row_ids_sha256": "a", "open_row_ids": row_ids, "who": 1}
    log_loss = {"name": "multi_class_log_loss", "classes": ["cat", "dog"]}
    for metric, file, codes in (
        (log_loss, b"id,dog,cat\nr2,0.1,0.9\nr0,1,0\nr1,0.5,0.5\n", []),
        (log_loss, b"id,cat,dog\nr2,0,0\nr0,1,0\nr1,0.5,0.5\n", ["unsuitable_prediction"]),
        (log_loss, b"id,cat\nr2,0\nr0,1\nr1,1\n", ["missing_column"]),
        ({**log_loss, "name": "accuracy"}, b"id,prediction\nr2,cat\nr0,Dog\nr1,dog\n", ["unknown_class"]),
        ({"name": "rmsle"}, b"id,prediction\nr2,1\nr0,-1\nr1,2\n", ["out_of_range"]),
    ):
        checked = checker.check(BytesIO(file), metric_settings=metric, **ids)
        assert checked is not None and [each["code"] for each in checked.problems] == codes, file
    assert check(checker, CLEAN) == CheckerResult([], [])


def test_files_on_disk_are_read_from_the_start(checker: Checker, tmp_path: Path):
    path = tmp_path / "clean.csv"
    path.write_bytes(CLEAN)
    with path.open("rb") as file:
        file.read()
        assert checker.check(file, row_ids_sha256="a", open_row_ids=row_ids, who=1) == CheckerResult([], [])


def test_ids_of_another_competition_replace_the_previous_ones(checker: Checker):
    assert check(checker, CLEAN) == CheckerResult([], [])
    other = RowIds.of(["x"]).to_bytes()
    told = checker.check(BytesIO(CLEAN), row_ids_sha256="b" * 64, open_row_ids=lambda: BytesIO(other), who=1)
    assert told is not None and told.problems
    assert check(checker, CLEAN) == CheckerResult([], [])


def test_dead_child_is_replaced(checker: Checker):
    assert check(checker, CLEAN)
    assert checker._child.process is not None
    checker._child.process.signal_all(signal.SIGKILL)
    assert checker._child.process.ends_within(HANG_SECONDS)
    assert check(checker, CLEAN) == CheckerResult([], [])


def test_check_of_a_slow_file_is_aborted(checker: Checker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert check(checker, CLEAN)
    monkeypatch.setattr(checking, "ANSWER_SECONDS", 0.2)
    endless = tmp_path / "endless"
    os.mkfifo(endless)
    with endless.open("r+b", buffering=0) as file:
        file.seek = lambda place: place  # type: ignore[method-assign]
        assert checker.check(file, row_ids_sha256="a" * 64, open_row_ids=row_ids, who=1) is None
    monkeypatch.undo()
    assert check(checker, CLEAN) == CheckerResult([], [])


def test_excess_files_are_not_queued(checker: Checker):
    assert check(checker, CLEAN)
    answers: list[CheckerResult | None] = []
    with checker._shares.turn:  # Another user's file is being checked.
        threads = [
            threading.Thread(target=lambda n=n: answers.append(check(checker, CLEAN, who=n)))
            for n in range(9)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [None] * 9
    assert check(checker, CLEAN) == CheckerResult([], [])


def test_user_has_one_file_in_check_and_does_not_block_others(checker: Checker):
    assert check(checker, CLEAN)
    told: list[CheckerResult | None] = []
    checker._shares.wait_seconds = 100
    with checker._shares.turn:  # The child is busy.
        first = threading.Thread(target=lambda: told.append(check(checker, CLEAN, who=1)))
        first.start()
        while 1 not in checker._shares._present:
            time.sleep(0.001)
        for _ in range(5):
            with pytest.raises(ShareUsed, match="Another of your files is being checked"):
                check(checker, CLEAN, who=1)
        second = threading.Thread(target=lambda: told.append(check(checker, CLEAN, who=2)))
        second.start()
        while 2 not in checker._shares._present:
            time.sleep(0.001)
    first.join()
    second.join()
    assert told == [CheckerResult([], [])] * 2
    assert check(checker, CLEAN, who=1)


def test_user_has_a_share_of_the_childs_time_per_minute(checker: Checker, monkeypatch: pytest.MonkeyPatch):
    clock = SimpleNamespace(monotonic=lambda: clock.now, now=1000.0)
    monkeypatch.setattr(shares, "time", clock)
    monkeypatch.setattr(checker, "_ask", lambda *_: setattr(clock, "now", clock.now + 6.0))
    for _ in range(3):
        check(checker, CLEAN, who=1)  # Each of the three checks takes 6 seconds.
    with pytest.raises(ShareUsed, match="took 15 seconds to check in the last minute") as used:
        check(checker, CLEAN, who=1)
    assert used.value.retry_after == timedelta(seconds=48)
    check(checker, CLEAN, who=2)
    clock.now = 1000.0 + 6 + 60
    check(checker, CLEAN, who=1)


def test_child_receives_no_settings_of_the_installation(
    make_settings: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    assert not [name for name in without_secrets() if name.startswith(("FAIRBOARD_", "AWS_"))]
    with closing(Checker(make_settings(scoring_memory_mb=1024))) as checker:
        assert check(checker, CLEAN)
        assert checker._child.process is not None
        environment = Path(f"/proc/{checker._child.process.pid}/environ").read_bytes()
    assert b"secret" not in environment


def test_memory_is_limited(make_settings: Callable[..., Any]):
    checker = Checker(make_settings(scoring_memory_mb=256))
    try:
        ids = RowIds.of(str(place) for place in range(1_000_000))
        huge = b"id,prediction\n" + b"0,0.123456789012345678901234567890\n" * 1_500_000
        told = checker.check(
            BytesIO(huge), row_ids_sha256="c", open_row_ids=lambda: BytesIO(ids.to_bytes()), who=1
        )
        assert told is None
    finally:
        checker.close()
