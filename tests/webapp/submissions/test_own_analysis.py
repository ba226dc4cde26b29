"""What a team sees of its own files: their histogram, and what holds them back."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from grader.services.analysis.histograms import Histograms
from grader.services.competitions import lookup
from grader.visibility import Feedback
from grader.worker.scoring.scorer import Scorer
from tests.fixtures.arena import without_form_tokens

HERE = "/competitions/toxicity"


@pytest.fixture
def arena(make_arena: Callable[..., Any]) -> Any:
    return make_arena()


def entered(arena: Any, feedback: Feedback = Feedback.OPEN) -> tuple[int, int]:
    """Create a competition in which Ann has two scored files."""
    arena.competition()
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").feedback = feedback
    arena.ann, arena.bob = arena.person("Ann"), arena.person("Bob")
    ids = tuple(
        arena.submit(arena.ann, arena.truth.predictions(noise=noise, seed=seed))
        for noise, seed in ((2.0, 1), (3.0, 2))
    )
    arena.score_all()
    return ids[0], ids[1]


def test_a_team_sees_the_histogram_of_its_file_undivided_and_where_to_gain_most(arena: Any) -> None:
    first, _ = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "All 400 predictions of the file" in page
    assert page.count('class="bar s0"') == 25
    assert "Where to gain most" in page
    gains = [float(gain) for gain in re.findall(r">\+(\d\.\d{5})</strong>", page)]
    assert gains
    assert gains == sorted(gains, reverse=True)
    assert f"would gain {gains[0]:.5f}." in page
    assert page.count("g0") == 4  # a cell and its bar, and the link from one to the other


@pytest.mark.parametrize("feedback", [Feedback.TERMS, Feedback.SCORE])
def test_without_the_table_no_page_shows_where_to_gain_most(arena: Any, feedback: Feedback) -> None:
    first, second = entered(arena, feedback)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "Where to gain most" not in page
    assert "All 400 predictions" in page
    both = arena.ann.browser.get(f"{HERE}/submissions/compare?candidate={first}&baseline={second}").text
    assert "score and terms" in both
    assert "identities" not in both
    assert ("BPSN" in both) is (feedback is Feedback.TERMS)


def lose_all_blobs(arena: Any) -> None:
    for path in (arena.settings.data_dir / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()


def test_a_histogram_is_counted_once_and_the_file_not_read_again(arena: Any) -> None:
    first, _ = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    lose_all_blobs(arena)
    again = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "All 400 predictions" in again
    assert without_form_tokens(again) == without_form_tokens(page)


def test_a_worker_that_scores_a_file_keeps_its_histogram(arena: Any) -> None:
    arena.scorer = Scorer(
        arena.database,
        arena.storage,
        lease=timedelta(seconds=40),
        histograms=Histograms.of(arena.settings),
    )
    first, _ = entered(arena)
    lose_all_blobs(arena)
    assert "All 400 predictions" in arena.ann.browser.get(f"{HERE}/submissions/{first}").text


def test_a_page_does_without_a_histogram_where_the_file_is_gone(arena: Any) -> None:
    first, _ = entered(arena)
    lose_all_blobs(arena)
    answer = arena.ann.browser.get(f"{HERE}/submissions/{first}")
    assert answer.status_code == 200
    assert "All 400 predictions" not in answer.text
