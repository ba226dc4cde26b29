"""The cache on disk: entries are found as they were, not believed when damaged, and never too many."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import count
from pathlib import Path

import pytest

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


def name(number: int) -> str:
    return f"{number:02x}" * 32


def data(size: int = 1000) -> bytes:
    return bytes(place % 251 for place in range(size))


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*/*") if path.is_file()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "ranks"


@pytest.fixture
def cache(folder: Path) -> DiskCache:
    return DiskCache(folder, max_bytes=10 * MB)


@pytest.mark.parametrize("content", [b"", b"\n", b"a\nb", data()])
def test_what_was_kept_is_found_as_it_was(cache: DiskCache, content: bytes):
    cache.put(name(1), FACTS, content)
    assert cache.get(name(1)) == (FACTS, content)
    assert cache.get(name(2)) is None


@pytest.mark.parametrize("length", range(0, 130, 13))
def test_the_data_start_where_an_array_may_start(cache: DiskCache, folder: Path, length: int):
    cache.put(name(1), {"text": "a" * length}, data())
    [path] = entries(folder)
    assert path.read_bytes().index(data()) % ALIGNMENT == 0


@pytest.mark.parametrize("place", [0, 20, 400, -1])
def test_a_damaged_entry_is_not_believed_and_removed(cache: DiskCache, folder: Path, place: int):
    cache.put(name(1), FACTS, data())
    [path] = entries(folder)
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 1
    path.write_bytes(damaged)
    assert cache.get(name(1)) is None
    assert entries(folder) == []


@pytest.mark.parametrize("size", [0, 8, 100, 1000])
def test_a_torn_entry_is_not_believed(cache: DiskCache, folder: Path, size: int):
    cache.put(name(1), FACTS, data())
    [path] = entries(folder)
    path.write_bytes(path.read_bytes()[:size])
    assert cache.get(name(1)) is None


def test_nothing_but_a_checksum_is_not_believed(cache: DiskCache, folder: Path):
    cache.put(name(1), FACTS, data())
    [path] = entries(folder)
    path.write_bytes(b"00000000")
    assert cache.get(name(1)) is None


def test_an_entry_of_another_key_is_not_believed(cache: DiskCache, folder: Path):
    cache.put(name(1), FACTS, data())
    [path] = entries(folder)
    other = folder / name(2)[:2] / name(2)
    other.parent.mkdir()
    path.rename(other)
    assert cache.get(name(2)) is None


def use_before(folder: Path, number: int, days: float):
    [path] = folder.glob(f"{name(number)[:2]}/*")
    then = time.time() - days * DAYS
    os.utime(path, (then, then))


def test_the_entries_that_were_not_used_for_longest_go_first(folder: Path):
    for number in range(9):
        DiskCache(folder, max_bytes=MB).put(name(number), FACTS, data(100_000))
        use_before(folder, number, days=20 - number)
    small = DiskCache(folder, max_bytes=MB)
    assert small.get(name(0)) is not None  # used now
    for number in (10, 11):
        small.put(name(number), FACTS, data(100_000))
    kept = {path.name[:2] for path in entries(folder)}
    assert {"00", "0a", "0b"} <= kept and "01" not in kept
    assert sum(path.stat().st_size for path in entries(folder)) <= MB


def test_a_walk_through_more_than_fits_drives_nothing_out_that_was_just_used(folder: Path):
    cache = DiskCache(folder, max_bytes=MB)
    for number in range(30):
        cache.put(name(number), FACTS, data(100_000))
    kept = {path.name[:2] for path in entries(folder)}
    assert kept == {f"{number:02x}" for number in range(9)}
    found = [cache.get(name(number)) is not None for number in (0, 8, 9, 29)]
    assert found == [True, True, False, False]


def test_a_small_file_counts_as_the_block_of_the_disk_that_it_takes(folder: Path):
    cache = DiskCache(folder, max_bytes=10 * 4096)
    for number in range(30):
        cache.put(name(number), FACTS)
    assert len(entries(folder)) == 10


def test_what_a_killed_process_left_half_written_goes_in_its_turn(folder: Path):
    DiskCache(folder, max_bytes=MB).put(name(1), FACTS, data())
    draft = folder / name(1)[:2] / "draft-1"
    draft.write_bytes(bytes(MB))
    old = time.time() - 2 * DAYS
    os.utime(draft, (old, old))
    DiskCache(folder, max_bytes=MB).put(name(2), FACTS, data())
    assert not draft.exists()
    assert len(entries(folder)) == 2


def test_many_threads_with_caches_of_their_own_read_and_write_the_same_entries(folder: Path):
    wrong: list[int] = []

    def work():
        cache = DiskCache(folder, max_bytes=10 * MB)
        for turn in range(60):
            number = turn % 5
            found = cache.get(name(number))
            if found is not None and found != ({"number": number}, data(1000 + number)):
                wrong.append(number)
            cache.put(name(number), {"number": number}, data(1000 + number))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(entries(folder)) == 5


def test_two_processes_that_are_killed_while_they_write_leave_no_wrong_entry(cache: DiskCache, folder: Path):
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


def test_backups_are_told_to_leave_the_folder_out(cache: DiskCache, folder: Path):
    cache.put(name(1), FACTS, data())
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_folder_that_cannot_be_written_keeps_nothing_and_breaks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "taken").write_text("a file where the folder should be")
    cache = DiskCache(tmp_path / "taken" / "ranks", max_bytes=MB)
    cache.put(name(1), FACTS, data())
    assert cache.get(name(1)) is None
    assert "An entry of the cache of ranks could not be kept" in caplog.text
