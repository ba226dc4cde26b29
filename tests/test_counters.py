"""Counters of several processes: sums, killed processes, file numbers, failures."""

import os
import resource
import signal
import subprocess
import sys

import pytest

from grader import counters
from grader.counters import CACHES, HINT_SECONDS, UPLOADS

pytestmark = pytest.mark.usefixtures("own_counters")
# More combinations of label values than a site can have, such as 25 groups of endpoints with two methods.
MOST = {"fairboard_http_requests": 500, "fairboard_http_errors": 600, "fairboard_http_request_seconds": 50}


def in_a_process(folder, program):
    """Run a program after `enable` in a new process and forget its exit code."""
    words = "import os, pathlib, sys; from grader import counters; from grader.counters import *; "
    words += "counters.enable(pathlib.Path(sys.argv[1])); "
    subprocess.run([sys.executable, "-c", words + program, str(folder)], check=False)


def values(folder, name):
    """Return the samples of a metric by their label values."""
    return {
        tuple(sample.labels.values()): sample.value
        for metric in counters.collect(folder)
        for sample in metric.samples
        if sample.name == name
    }


def files(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_counts_of_processes_and_their_forks_are_added(tmp_path):
    counters.enable(tmp_path)
    UPLOADS.add()
    in_a_process(tmp_path, "UPLOADS.add(); os.fork() or UPLOADS.add(); UPLOADS.add()")
    assert values(tmp_path, "fairboard_accepted_uploads_total") == {(): 5}  # the fork also runs the last call


def test_killed_process_loses_no_count_and_its_files_are_used_again(tmp_path):
    kill = f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
    for _ in range(4):
        in_a_process(tmp_path, f"UPLOADS.add(); HINT_SECONDS.observe(0.02); {kill}")
    assert values(tmp_path, "fairboard_accepted_uploads_total") == {(): 4}
    assert values(tmp_path, "fairboard_hint_seconds_count") == {(): 4}
    assert len(files(tmp_path)) == 3  # a lock and two files


def test_durations_are_counted_in_their_buckets(tmp_path):
    counters.enable(tmp_path)
    HINT_SECONDS.observe(0.02)
    HINT_SECONDS.observe(-1)  # the clock was set back
    found = values(tmp_path, "fairboard_hint_seconds_bucket")
    assert (found["0.001",], found["0.01",], found["0.025",], found["+Inf",]) == (1, 1, 2, 2)


def test_counters_of_another_release_are_deleted(tmp_path, monkeypatch):
    in_a_process(tmp_path, "UPLOADS.add()")
    before = files(tmp_path)
    monkeypatch.setattr(counters, "METERS", counters.METERS[:-1])
    counters.enable(tmp_path)
    assert files(tmp_path) == before
    assert values(tmp_path, "fairboard_accepted_uploads_total") == {(): 0}


def test_process_without_room_for_its_files_continues_without_counting(tmp_path, caplog):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        counters.enable(tmp_path)
        UPLOADS.add()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert "The metrics of this process are not recorded" in caplog.text
    assert values(tmp_path, "fairboard_accepted_uploads_total") == {}


def test_files_never_grow_and_therefore_never_need_disk_space_later(tmp_path):
    """Writing to a sparse memory-mapped file would kill the process if the disk is full."""
    counters.enable(tmp_path)
    for meter in counters.METERS:
        for number in range(MOST.get(meter.name, 100) if meter.labels else 1):
            labels = [f"value {number:07}" for _ in meter.labels]
            meter.observe(1, *labels) if meter.buckets else meter.add(*labels)
    sizes = {path.stat().st_size for path in tmp_path.rglob("*.db")}
    blocks = {path.stat().st_blocks * 512 >= counters.FILE_BYTES for path in tmp_path.rglob("*.db")}
    assert (sizes, blocks) == ({counters.FILE_BYTES}, {True})


def test_without_metrics_nothing_is_imported_or_written(tmp_path):
    program = (
        "import sys; from grader import counters; from grader.counters import CACHES; counters.enable(None); "
        "CACHES.add('ranks', 'hit'); assert 'prometheus_client' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env={**os.environ})
    assert files(tmp_path) == []
    CACHES.add("ranks", "hit")
