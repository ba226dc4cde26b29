"""Calculator caches: ranks by file, rows and format; recently prepared solutions."""

import numpy as np
import pytest

from grader.services.submissions.scoring_jobs import Claim
from grader.settings import Settings
from grader.storage.disk_cache import DiskCache
from grader.worker import calculator
from grader.worker.calculator import Calculator, EncodedCache, EncodedFile, PreparedSolution

FILE, ROW_IDS = "11" * 32, "ff" * 32


def ranked(kind=np.uint16):
    ranks = np.random.default_rng(1).integers(0, 200, 1000).astype(kind)
    return EncodedFile(ranks, [{"code": "outside", "count": 3}], ("insult", "threat"))


@pytest.fixture
def cache(tmp_path):
    return EncodedCache(DiskCache(tmp_path / "ranks", max_bytes=10**7))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32])
def test_ranks_are_returned_with_their_notes_and_other_labels(cache, kind):
    kept = ranked(kind)
    cache.put(FILE, ROW_IDS, kept)
    found = cache.get(FILE, ROW_IDS)
    assert found is not None
    assert (found.notes, found.other_labels) == (kept.notes, kept.other_labels)
    assert found.encoded.dtype == kind and found.encoded.flags.aligned
    assert np.array_equal(found.encoded, kept.encoded)


def test_ranks_belong_to_one_file_and_row_order(cache):
    cache.put(FILE, ROW_IDS, ranked())
    assert cache.get(FILE, "ee" * 32) is None
    assert cache.get("22" * 32, ROW_IDS) is None


def test_predictions_encoded_for_several_metrics_are_kept_next_to_each_other(cache):
    table = np.random.default_rng(2).random((50, 3))
    cache.put(FILE, ROW_IDS, ranked())
    cache.put(FILE, ROW_IDS, EncodedFile(table, []), "log loss of a/b")
    found = cache.get(FILE, ROW_IDS, "log loss of a/b")
    assert found is not None and np.array_equal(found.encoded, table)
    assert cache.get(FILE, ROW_IDS, "rmse-1") is None
    unchanged = cache.get(FILE, ROW_IDS)
    assert unchanged is not None and np.array_equal(unchanged.encoded, ranked().encoded)


def test_ranks_of_another_format_are_not_found(cache, monkeypatch):
    cache.put(FILE, ROW_IDS, ranked())
    monkeypatch.setattr(calculator, "RANKS_FORMAT", calculator.RANKS_FORMAT + 1)
    assert cache.get(FILE, ROW_IDS) is None
    cache.put(FILE, ROW_IDS, ranked())
    assert cache.get(FILE, ROW_IDS) is not None


def test_cache_is_disabled_with_a_size_of_zero(tmp_path):
    assert EncodedCache.of(Settings(data_dir=tmp_path, rank_cache_mb=0)) is None
    cache = EncodedCache.of(Settings(data_dir=tmp_path))
    assert cache is not None
    cache.put(FILE, ROW_IDS, ranked())
    assert len(list((tmp_path / "cache" / "ranks").glob("*/*"))) == 1


def test_least_recently_used_solution_is_evicted_first(monkeypatch):
    loaded: list[int] = []
    monkeypatch.setattr(calculator, "KEPT", 2)

    def load(_: object, __: object, claim: Claim) -> object:
        loaded.append(claim.scoring_version_id)
        return object()

    monkeypatch.setattr(PreparedSolution, "of", load)
    solutions = Calculator(None, None)  # type: ignore[arg-type]
    for version_id in (1, 2, 1, 3, 1, 2):
        solutions._solution(Claim(1, "token", 1, 1, version_id, 1, "a", "b", "c", metric_settings={}))
    assert loaded == [1, 2, 3, 2]
