"""Rank cache: intact entries by file, rows and encoding; damage detection, size limit."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from operator import itemgetter
from types import SimpleNamespace

import numpy as np
import pytest

from grader.settings import Settings
from grader.worker import rank_cache
from grader.worker.rank_cache import EncodedFile, RankCache

MB = 1_000_000
DAYS = 24 * 3600
FILE, ROW_IDS = "11" * 32, "ff" * 32
WRITER = """
import sys
from pathlib import Path
import numpy as np
from grader.worker.rank_cache import EncodedFile, RankCache
cache = RankCache(Path(sys.argv[1]), max_bytes=10**8)
for turn in range(10**9):
    number = turn % 5
    cache.put(f"{number:02x}" * 32, "", EncodedFile(np.full(300_000, number, np.uint8), [{"number": number}]))
    print(turn, flush=True)
"""


def name(number):
    return f"{number:02x}" * 32


def ranked(size=1000, kind=np.uint16):
    ranks = np.random.default_rng(1).integers(0, 200, size).astype(kind)
    return EncodedFile(ranks, [{"code": "outside", "count": 3}], ("insult", "threat"))


def entries(folder):
    return [path for path in folder.glob("*/*") if path.is_file()]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "ranks"


@pytest.fixture
def cache(folder):
    return RankCache(folder, max_bytes=10 * MB)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.float64])
def test_ranks_are_returned_with_their_notes_and_other_labels(cache, folder, kind):
    cache.put(FILE, ROW_IDS, stored := ranked(kind=kind))
    cached = cache.get(FILE, ROW_IDS)
    assert (cached.notes, cached.other_labels) == (stored.notes, stored.other_labels)
    assert cached.encoded.dtype == kind and np.array_equal(cached.encoded, stored.encoded)
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_ranks_belong_to_one_file_row_order_encoding_and_format(cache, monkeypatch):
    table = np.random.default_rng(2).random((50, 3))
    cache.put(FILE, ROW_IDS, ranked())
    cache.put(FILE, ROW_IDS, EncodedFile(table, []), "log loss of a/b")
    assert np.array_equal(cache.get(FILE, ROW_IDS, "log loss of a/b").encoded, table)
    assert np.array_equal(cache.get(FILE, ROW_IDS).encoded, ranked().encoded)
    for key in ((FILE, "ee" * 32), ("22" * 32, ROW_IDS), (FILE, ROW_IDS, "rmse-1")):
        assert cache.get(*key) is None
    monkeypatch.setattr(rank_cache, "RANKS_FORMAT", rank_cache.RANKS_FORMAT + 1)
    assert cache.get(FILE, ROW_IDS) is None


def test_cache_is_disabled_with_a_size_of_zero(tmp_path):
    assert RankCache.of(Settings(data_dir=tmp_path, rank_cache_mb=0)) is None
    RankCache.of(Settings(data_dir=tmp_path)).put(FILE, ROW_IDS, ranked())
    assert len(entries(tmp_path / "cache" / "ranks")) == 1


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
    cache.put(FILE, ROW_IDS, ranked())
    [path] = entries(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(FILE, ROW_IDS) is None
    assert entries(folder) == []


def test_entry_of_another_key_is_ignored(cache, folder):
    cache.put(FILE, ROW_IDS, ranked())
    [path] = entries(folder)
    path.rename(path.with_name(path.name.replace(ROW_IDS, "ee" * 32)))
    assert cache.get(FILE, "ee" * 32) is None


def test_least_recently_used_entries_are_removed_first(folder):
    cache = RankCache(folder, max_bytes=MB)
    for number in range(12):
        cache.put(name(number), ROW_IDS, ranked(50_000))
        [path] = folder.glob(f"{name(number)[:2]}/*")
        then = time.time() - (20 - number) * DAYS
        os.utime(path, (then, then))
    (draft := folder / "02" / "draft-1").write_bytes(bytes(MB))  # of a killed process
    os.utime(draft, (0, 0))
    small = RankCache(folder, max_bytes=MB)
    assert small.get(name(0), ROW_IDS) is not None  # This counts as a use of the entry.
    small.put(name(20), ROW_IDS, ranked(50_000))
    kept = {path.name[:2] for path in entries(folder)}
    assert {"00", "14", "0b"} <= kept and "01" not in kept and not draft.exists()
    assert sum(path.stat().st_size for path in entries(folder)) <= 1.2 * MB


def test_more_entries_than_fit_remove_no_recently_used_entry(folder, monkeypatch):
    monkeypatch.setattr(rank_cache, "LOOK_AGAIN_SECONDS", 0)
    cache = RankCache(folder, max_bytes=MB)
    for number in range(30):
        cache.put(name(number), ROW_IDS, ranked(50_000))
    found = [cache.get(name(number), ROW_IDS) is not None for number in range(30)]
    assert found == [True] * 10 + [False] * 20


@pytest.mark.parametrize("total, reserve", [(10**9, 10**8), (10**12, 5 * 10**9)])
@pytest.mark.parametrize("room, stored", [(MB, True), (0, False)])
def test_a_tenth_of_a_disk_or_5_gb_stays_free(cache, total, reserve, room, stored, monkeypatch):
    free = reserve + room
    usage = SimpleNamespace(total=total, used=total - free, free=free)
    monkeypatch.setattr(rank_cache.shutil, "disk_usage", lambda folder: usage)
    cache.put(FILE, ROW_IDS, ranked())
    assert (cache.get(FILE, ROW_IDS) is not None) is stored


def test_two_processes_killed_while_writing_leave_no_wrong_entry(cache, folder):
    for turns in range(3):
        command = [sys.executable, "-c", WRITER, str(folder)]
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        for writer in writers:
            for _ in range(turns):
                writer.stdout.readline()
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
        for writer in writers:
            writer.communicate()
    for number in range(5):
        if (kept := cache.get(name(number), "")) is not None:
            assert kept.notes == [{"number": number}] and (kept.encoded == number).all()
    assert cache.get(name(0), "") is not None


def test_unwritable_folder_stores_nothing_and_causes_no_error(tmp_path, caplog):
    (tmp_path / "taken").write_text("a file where the folder should be")
    cache = RankCache(tmp_path / "taken" / "ranks", max_bytes=MB)
    cache.put(FILE, ROW_IDS, ranked())
    assert cache.get(FILE, ROW_IDS) is None
    assert "could not be stored" in caplog.text
