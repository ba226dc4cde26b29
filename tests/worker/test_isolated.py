"""Isolated calls: checks of files and formatting of texts, limits, number at once."""

import os
import tempfile
import threading
import time
from io import BytesIO

import pytest

from grader.files import RowIds
from grader.worker import isolated
from grader.worker.checking import CheckerResult, check
from grader.worker.isolated import Busy
from tests.fixtures.patience import eventually

pytestmark = pytest.mark.system

IDS = RowIds.of(f"r{place}" for place in range(3))
CLEAN = b"id,prediction\nr2,0.1\nr0,0.2\nr1,0.3\n"
BIAS = {"identities": (), "metric": {}}
LOG_LOSS = {"name": "multi_class_log_loss", "classes": ["cat", "dog"]}


@pytest.fixture
def checked():
    def run(file: bytes, *, metric_settings=None, **options) -> CheckerResult | None:
        options |= {"memory_mb": 1024, "metric_settings": metric_settings or BIAS}
        return check(BytesIO(file), BytesIO(IDS.text), **options)

    return run


def call(function, *arguments, **options):
    return isolated.call(function, *arguments, **{"seconds": 30, "memory_mb": 1024} | options)


def environment():
    return [f"{name}={value}" for name, value in os.environ.items()]


def fill(size):
    return len(bytearray(size))


@pytest.mark.parametrize(
    ("metric", "names", "file", "codes"),
    [
        (None, [], CLEAN, []),
        (None, [], CLEAN.replace(b"0.3", b"3"), ["outside_unit_interval"]),
        (None, [], b"id,prediction\nr0,nan\nx,1\n", ["nan_prediction", "unknown_id", "missing_row_id"]),
        (None, ["insult"], b"id,prediction,insult\nr2,0.1,\nr0,0.2,x\nr1,0.3,\n", ["columns_not_read"]),
        (None, [], b"id,prediction,insult\nr2,0.1,\nr0,0.2,x\nr1,0.3,\n", ["unexpected_column"]),
        (LOG_LOSS, [], b"id,dog,cat\nr2,0.1,0.9\nr0,1,0\nr1,0.5,0.5\n", ["columns_reordered"]),
        (LOG_LOSS, [], b"id,cat,dog\nr2,0,0\nr0,1,0\nr1,0.5,0.5\n", ["unsuitable_prediction"]),
        ({"name": "rmsle"}, [], b"id,prediction\nr2,1\nr0,-1\nr1,2\n", ["out_of_range"]),
    ],
)
def test_file_is_checked_as_its_metric_reads_it(checked, metric, names, file, codes):
    found = checked(file, metric_settings=metric, other_labels=names)
    assert [each["code"] for each in (*found.problems, *found.notes)] == codes


def test_file_on_disk_is_read_from_its_start(tmp_path):
    (tmp_path / "clean.csv").write_bytes(CLEAN)
    with (tmp_path / "clean.csv").open("rb") as file:
        file.read()
        ids = BytesIO(IDS.text)
        assert check(file, ids, memory_mb=1024, metric_settings=BIAS) == CheckerResult([], [])


def test_file_that_exhausts_the_memory_is_not_checked():
    ids = BytesIO(RowIds.of(str(place) for place in range(1_000_000)).text)
    huge = b"id,prediction\n" + b"0,0.123456789012345678901234567890\n" * 1_400_000
    assert check(BytesIO(huge), ids, memory_mb=300, metric_settings=BIAS) is None


def test_call_has_no_settings_of_the_installation(monkeypatch, tmp_path):
    (tmp_path / ("long" * 25)).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 25)))  # as in a web process
    monkeypatch.setenv("FAIRBOARD_DATABASE_URL", "postgresql://secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr(isolated, "_server", [])
    isolated.forkserver._forkserver._stop()  # type: ignore[attr-defined]
    found = call(environment)
    assert found and not [each for each in found if "secret" in each]
    assert os.environ["AWS_SECRET_ACCESS_KEY"] == "secret"
    assert tempfile.gettempdir().endswith("long")


def test_few_calls_run_at_once(monkeypatch):
    slow = [threading.Thread(target=call, args=(time.sleep, 5)) for _ in range(isolated.AT_ONCE)]
    for thread in slow:
        thread.start()
    eventually(lambda: not isolated._free._value, "the last call")
    monkeypatch.setattr(isolated, "WAIT_SECONDS", 0.1)
    with pytest.raises(Busy):
        call(fill, 1)
    for thread in slow:
        thread.join()
    assert call(fill, 1) == 1
