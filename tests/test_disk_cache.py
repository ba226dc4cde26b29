"""Disk cache: intact entries, damage detection, size limit."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import count
from operator import itemgetter
from types import SimpleNamespace

import pytest

from grader.storage import disk_cache
from grader.storage.disk_cache import ALIGNMENT, DiskCache

MB = 1_000_000
DAYS = 24 * 3600
FACTS = {"notes": [{"code": "outside", "count": 3}], "mean": 0.1}
WRITER = """
import sys
from pathlib import Path
from grader.storage.disk_cache import DiskCache
cache = DiskCache(Path(sys.argv[1]), max_bytes=10**8)
for turn in range(10**9):
    number = turn % 5
    cache.put(f"{number:02x}" * 32, {"number": number}, bytes([number]) * 300_000)
    print(turn, flush=True)
"""


def name(number):
    return f"{number:02x}" * 32


def data(size=1000):
    return bytes(place % 251 for place in range(size))


def entries(folder):
    return [path for path in folder.glob("*/*") if path.is_file()]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "ranks"


@pytest.fixture
def cache(folder):
    return DiskCache(folder, max_bytes=10 * MB)


@pytest.mark.parametrize("content", [b"", b"\n", b"a\nb", data()])
def test_entry_is_returned_unchanged_and_aligned_for_arrays(cache, folder, content):
    for length in range(0, 130, 13):
        facts = FACTS | {"text": "a" * length}
        cache.put(name(1), facts, content)
        assert cache.get(name(1)) == (facts, content)
        [path] = entries(folder)
        assert (path.stat().st_size - len(content)) % ALIGNMENT == 0
    assert cache.get(name(2)) is None
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def flipped(entry, place):
    damaged = bytearray(entry)
    damaged[place] ^= 1
    return bytes(damaged)


@pytest.mark.parametrize(
    "damage",
    [
        *(partial(flipped, place=place) for place in (0, 20, 400, -1)),
        *(itemgetter(slice(size)) for size in (0, 8, 100, 1000)),
        lambda _: b"00000000",
    ],
)
def test_damaged_entry_is_ignored_and_removed(cache, folder, damage):
    cache.put(name(1), FACTS, data())
    [path] = entries(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(name(1)) is None
    assert entries(folder) == []


def test_entry_of_another_key_is_ignored(cache, folder):
    cache.put(name(1), FACTS, data())
    [path] = entries(folder)
    other = folder / name(2)[:2] / name(2)
    other.parent.mkdir()
    path.rename(other)
    assert cache.get(name(2)) is None


def use_before(folder, number, days):
    [path] = folder.glob(f"{name(number)[:2]}/*")
    then = time.time() - days * DAYS
    os.utime(path, (then, then))


def test_least_recently_used_entries_are_removed_first(folder):
    for number in range(9):
        DiskCache(folder, max_bytes=MB).put(name(number), FACTS, data(100_000))
        use_before(folder, number, days=20 - number)
    small = DiskCache(folder, max_bytes=MB)
    assert small.get(name(0)) is not None  # This counts as a use of the entry.
    for number in (10, 11):
        small.put(name(number), FACTS, data(100_000))
    kept = {path.name[:2] for path in entries(folder)}
    assert {"00", "0a", "0b"} <= kept and "01" not in kept
    assert sum(path.stat().st_size for path in entries(folder)) <= MB


def test_scan_of_more_entries_than_fit_removes_no_recently_used_entry(folder):
    cache = DiskCache(folder, max_bytes=MB)
    for number in range(30):
        cache.put(name(number), FACTS, data(100_000))
    kept = {path.name[:2] for path in entries(folder)}
    assert kept == {f"{number:02x}" for number in range(9)}
    found = [cache.get(name(number)) is not None for number in (0, 8, 9, 29)]
    assert found == [True, True, False, False]


@pytest.mark.parametrize("total, reserve", [(10**9, 10**8), (10**12, 5 * 10**9)])
@pytest.mark.parametrize("room, stored", [(MB, True), (0, False)])
def test_a_tenth_of_a_disk_or_5_gb_stays_free(cache, total, reserve, room, stored, monkeypatch):
    free = reserve + room
    usage = SimpleNamespace(total=total, used=total - free, free=free)
    monkeypatch.setattr(disk_cache.shutil, "disk_usage", lambda folder: usage)
    cache.put(name(1), FACTS, data())
    assert (cache.get(name(1)) is not None) is stored


def test_small_file_counts_as_a_whole_disk_block(folder):
    cache = DiskCache(folder, max_bytes=10 * 4096)
    for number in range(30):
        cache.put(name(number), FACTS)
    assert len(entries(folder)) == 10


def test_partial_files_of_killed_processes_are_removed_in_turn(folder):
    DiskCache(folder, max_bytes=MB).put(name(1), FACTS, data())
    draft = folder / name(1)[:2] / "draft-1"
    draft.write_bytes(bytes(MB))
    old = time.time() - 2 * DAYS
    os.utime(draft, (old, old))
    DiskCache(folder, max_bytes=MB).put(name(2), FACTS, data())
    assert not draft.exists()
    assert len(entries(folder)) == 2


def test_two_processes_killed_while_writing_leave_no_wrong_entry(cache, folder):
    for _ in range(4):
        command = [sys.executable, "-c", WRITER, str(folder)]
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for writer, turns in zip(writers, count(3), strict=False):
            assert writer.stdout is not None
            for _ in range(turns):
                writer.stdout.readline()
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.communicate()
        found = {number: cache.get(name(number)) for number in range(5)}
        assert all(
            kept == ({"number": number}, bytes([number]) * 300_000)
            for number, kept in found.items()
            if kept is not None
        )
        assert found[0] is not None
        assert len([path for path in entries(folder) if not path.name.startswith("draft-")]) <= 5


def test_unwritable_folder_stores_nothing_and_causes_no_error(tmp_path, caplog):
    (tmp_path / "taken").write_text("a file where the folder should be")
    cache = DiskCache(tmp_path / "taken" / "ranks", max_bytes=MB)
    cache.put(name(1), FACTS, data())
    assert cache.get(name(1)) is None
    assert "An entry of the cache ranks could not be stored" in caplog.text
