"""Kept ranks: found again as they were, never believed when damaged, never more than the room there is."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from grader.settings import Settings
from grader.worker.scoring import rank_cache
from grader.worker.scoring.rank_cache import RankCache, RankedFile

ROW_IDS = "ff" * 32
MB = 1_000_000
DAYS = 24 * 3600


def name(number: int) -> str:
    return f"{number:02x}" * 32


def ranked(rows: int = 1000, kind: type = np.uint16, notes: list | None = None) -> RankedFile:
    ranks = np.random.default_rng(rows).integers(0, 200, rows).astype(kind)
    return RankedFile(ranks, notes or [])


def entries(folder: Path) -> list[Path]:
    return [path for path in folder.glob("*/*") if path.is_file()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "ranks"


@pytest.fixture
def cache(folder: Path) -> RankCache:
    return RankCache(folder, max_bytes=10 * MB)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_what_was_kept_is_found_with_its_notes(cache: RankCache, kind: type) -> None:
    kept = ranked(kind=kind, notes=[{"code": "outside", "count": 3}])
    cache.put(name(1), ROW_IDS, kept)
    found = cache.get(name(1), ROW_IDS)
    assert found is not None and found.notes == kept.notes
    assert found.ranks.dtype == kind
    assert np.array_equal(found.ranks, kept.ranks)


def test_a_file_is_kept_for_its_row_ids(cache: RankCache) -> None:
    cache.put(name(1), ROW_IDS, ranked())
    assert cache.get(name(1), "ee" * 32) is None
    assert cache.get(name(2), ROW_IDS) is None


@pytest.mark.parametrize("place", [0, 20, 400, -1])
def test_a_damaged_entry_is_not_believed_and_removed(cache: RankCache, folder: Path, place: int) -> None:
    cache.put(name(1), ROW_IDS, ranked())
    [path] = entries(folder)
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)
    assert cache.get(name(1), ROW_IDS) is None
    assert entries(folder) == []


@pytest.mark.parametrize("size", [0, 8, 100, 2000])
def test_a_torn_entry_is_not_believed(cache: RankCache, folder: Path, size: int) -> None:
    cache.put(name(1), ROW_IDS, ranked())
    [path] = entries(folder)
    path.write_bytes(path.read_bytes()[:size])
    assert cache.get(name(1), ROW_IDS) is None


def test_nothing_but_a_checksum_is_not_believed(cache: RankCache, folder: Path) -> None:
    cache.put(name(1), ROW_IDS, ranked())
    [path] = entries(folder)
    path.write_bytes(b"00000000")
    assert cache.get(name(1), ROW_IDS) is None


def test_an_entry_of_another_file_is_not_believed(cache: RankCache, folder: Path) -> None:
    cache.put(name(1), ROW_IDS, ranked())
    [path] = entries(folder)
    other = folder / name(2)[:2] / path.name.replace(name(1), name(2))
    other.parent.mkdir()
    path.rename(other)
    assert cache.get(name(2), ROW_IDS) is None


def test_an_entry_of_another_format_is_not_believed(
    cache: RankCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put(name(1), ROW_IDS, ranked())
    monkeypatch.setattr(rank_cache, "FORMAT", rank_cache.FORMAT + 1)
    assert cache.get(name(1), ROW_IDS) is None
    cache.put(name(1), ROW_IDS, ranked())
    assert cache.get(name(1), ROW_IDS) is not None


def use_before(folder: Path, number: int, days: float) -> None:
    [path] = folder.glob(f"{name(number)[:2]}/*")
    then = time.time() - days * DAYS
    os.utime(path, (then, then))


def test_the_entries_that_were_not_used_for_longest_go_first(folder: Path) -> None:
    for number in range(9):
        RankCache(folder, max_bytes=MB).put(name(number), ROW_IDS, ranked(100_000, np.uint8))
        use_before(folder, number, days=20 - number)
    small = RankCache(folder, max_bytes=MB)
    assert small.get(name(0), ROW_IDS) is not None  # used now
    for number in (10, 11):
        small.put(name(number), ROW_IDS, ranked(100_000, np.uint8))
    kept = {path.name[:2] for path in entries(folder)}
    assert {"00", "0a", "0b"} <= kept and "01" not in kept
    assert sum(path.stat().st_size for path in entries(folder)) <= MB


def test_a_walk_through_more_than_fits_drives_nothing_out_that_was_just_used(folder: Path) -> None:
    cache = RankCache(folder, max_bytes=MB)
    for number in range(30):
        cache.put(name(number), ROW_IDS, ranked(100_000, np.uint8))
    kept = {path.name[:2] for path in entries(folder)}
    assert kept == {f"{number:02x}" for number in range(9)}
    assert [cache.get(name(number), ROW_IDS) is not None for number in (0, 8, 9, 29)] == [
        True,
        True,
        False,
        False,
    ]


def test_what_a_killed_process_left_half_written_goes_in_its_turn(folder: Path) -> None:
    RankCache(folder, max_bytes=MB).put(name(1), ROW_IDS, ranked())
    draft = folder / name(1)[:2] / "draft-1"
    draft.write_bytes(bytes(MB))
    old = time.time() - 2 * DAYS
    os.utime(draft, (old, old))
    RankCache(folder, max_bytes=MB).put(name(2), ROW_IDS, ranked())
    assert not draft.exists()
    assert len(entries(folder)) == 2


def test_many_threads_with_caches_of_their_own_read_and_write_the_same_entries(folder: Path) -> None:
    expected = {number: ranked(1000 + number) for number in range(5)}
    wrong: list[int] = []

    def work() -> None:
        cache = RankCache(folder, max_bytes=10 * MB)
        for turn in range(60):
            number = turn % 5
            found = cache.get(name(number), ROW_IDS)
            if found is not None and not np.array_equal(found.ranks, expected[number].ranks):
                wrong.append(number)
            cache.put(name(number), ROW_IDS, expected[number])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(entries(folder)) == 5


def test_backups_are_told_to_leave_the_folder_out(cache: RankCache, folder: Path) -> None:
    cache.put(name(1), ROW_IDS, ranked())
    assert (folder / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55")


def test_a_folder_that_cannot_be_written_keeps_nothing_and_breaks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "taken").write_text("a file where the folder should be")
    cache = RankCache(tmp_path / "taken" / "ranks", max_bytes=MB)
    cache.put(name(1), ROW_IDS, ranked())
    assert cache.get(name(1), ROW_IDS) is None
    assert "could not be kept" in caplog.text


def test_without_room_there_is_no_cache(tmp_path: Path) -> None:
    assert RankCache.of(Settings(data_dir=tmp_path, rank_cache_mb=0)) is None
    cache = RankCache.of(Settings(data_dir=tmp_path))
    assert cache is not None
    cache.put(name(1), ROW_IDS, ranked())
    assert len(entries(tmp_path / "cache" / "ranks")) == 1
