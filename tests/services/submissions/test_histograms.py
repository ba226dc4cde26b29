"""Cached prediction histograms, shared by all pages and recomputed if missing."""

from pathlib import Path

import numpy as np

from grader.services.submissions.histograms import Histograms
from grader.settings import Settings

NAME = "ab" + "0" * 62


def histograms(folder: Path) -> Histograms:
    return Histograms.of(Settings(data_dir=folder))


def test_cached_histogram_is_read_unchanged(tmp_path: Path):
    kept = histograms(tmp_path)
    assert kept.get(NAME) is None
    found = kept.count(NAME, np.random.default_rng(1).random(1000))
    assert found.bins is not None
    assert (found.bins.rows, len(found.bins.counts), found.bins.edges[-1]) == (1000, 25, 1.0)
    assert histograms(tmp_path).get(NAME) == found


def test_predictions_too_far_apart_are_stored_as_such(tmp_path: Path):
    kept = histograms(tmp_path)
    kept.count(NAME, np.array([-1e300, 1e300]))
    found = kept.get(NAME)
    assert found is not None
    assert found.bins is None


def test_damaged_histogram_counts_as_missing(tmp_path: Path):
    kept = histograms(tmp_path)
    kept.count(NAME, np.array([0.5]))
    next((tmp_path / "cache" / "histograms").glob("*/*")).write_text('{"bins": null}')
    assert kept.get(NAME) is None


def test_histogram_is_computed_without_a_disk_cache(tmp_path: Path):
    (tmp_path / "cache").touch()
    assert histograms(tmp_path).count(NAME, np.array([0.5])).bins is not None
