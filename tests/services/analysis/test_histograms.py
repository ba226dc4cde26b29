"""Histograms are counted once for all pages, and again when they are gone."""

from pathlib import Path

import numpy as np
import pytest

from grader.services.analysis import histograms
from grader.services.analysis.histograms import Histograms

NAME = "ab" + "0" * 62


def test_what_was_counted_is_read_back_as_it_was(tmp_path: Path) -> None:
    kept = Histograms(tmp_path)
    assert kept.get(NAME) is None
    found = kept.count(NAME, np.random.default_rng(1).random(1000))
    assert found.bins is not None
    assert (found.bins.rows, len(found.bins.counts), found.bins.edges[-1]) == (1000, 25, 1.0)
    assert Histograms(tmp_path).get(NAME) == found


def test_predictions_too_far_apart_are_kept_as_such(tmp_path: Path) -> None:
    kept = Histograms(tmp_path)
    kept.count(NAME, np.array([-1e300, 1e300]))
    found = kept.get(NAME)
    assert found is not None
    assert found.bins is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"bins": {"edges": [0], "counts": [1, 2]}}'])
def test_a_damaged_one_is_as_good_as_gone(tmp_path: Path, content: str) -> None:
    kept = Histograms(tmp_path)
    kept.count(NAME, np.array([0.5]))
    next(tmp_path.rglob("*.json")).write_text(content)
    assert kept.get(NAME) is None


def test_without_a_disk_it_is_counted_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert Histograms(tmp_path / "file").count(NAME, np.array([0.5])).bins is not None


def test_the_oldest_half_of_a_full_folder_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histograms, "KEPT_IN_A_FOLDER", 4)
    kept = Histograms(tmp_path)
    for number in range(10):
        kept.count(f"ab{number:062}", np.array([0.5]))
    assert 2 <= len(list(tmp_path.rglob("*.json"))) <= 4
    assert kept.get(f"ab{9:062}") is not None
