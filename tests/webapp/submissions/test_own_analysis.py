"""Analysis of a team's own submissions: histogram, possible gains."""

import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from grader import db
from grader.services.scoring import jobs
from grader.services.submissions.histograms import Histograms
from grader.simulation.honest_teams import rank_correlation
from grader.visibility import Feedback
from grader.worker.scorer import Scorer
from tests.fixtures.arena import without_form_tokens
from tests.webapp.submissions.test_comparison import entered

HERE = "/competitions/toxicity"


@pytest.fixture
def arena(make_arena: Callable[..., Any]):
    return make_arena()


def test_a_team_sees_the_histogram_of_its_file_and_the_largest_possible_gains(arena):
    first, _ = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "All 400 predictions in the file" in page
    assert page.count('class="bar s0"') == 25
    assert "Largest possible gains" in page
    gains = [float(gain) for gain in re.findall(r">\+(\d\.\d{5})</strong>", page)]
    assert gains
    terms = re.findall(r"<small>(Subgroup|BPSN|BNSP)</small></span> <strong", page)
    assert terms == sorted(terms, key=terms.index)  # Gains for one term are listed together.
    weakest = re.search(r"[Ww]eakest term: (\w+)", page)
    assert weakest and f"{weakest[1]} lowers the score most" in page
    assert terms[0] == weakest[1] or weakest[1] == "Overall"
    (told,) = arena.ann.browser.get(f"/api/v1/submissions/{first}/gains", headers=arena.ann.bearer).json[
        "gains"
    ][:1]
    assert (f"{told['gain']:.5f}", told["name"]) == (
        f"{gains[0]:.5f}",
        re.findall(r"<th scope=\"row\"><bdi>([^<]+)", page)[0],
    )
    assert without_form_tokens(page).count("g0") == 4  # The cell, its bar, and the links between them.


@pytest.mark.parametrize("feedback", [Feedback.TERMS, Feedback.SCORE])
def test_without_the_table_no_page_shows_possible_gains(arena, feedback: Feedback):
    first, second = entered(arena, feedback)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "Largest possible gains" not in page
    assert "All 400 predictions" in page
    both = arena.ann.browser.get(f"{HERE}/submissions/compare?candidate={first}&baseline={second}").text
    assert "score and terms" in both
    assert "identities" not in both
    assert ("BPSN" in both) is (feedback is Feedback.TERMS)


@pytest.mark.parametrize("feedback", [Feedback.OPEN, Feedback.TIERED, Feedback.LADDER, Feedback.BLIND])
def test_a_submission_is_compared_with_the_previous_and_the_best_displayed_one(arena, feedback: Feedback):
    first, second = entered(arena, feedback)
    third = arena.submit(arena.ann, arena.truth.predictions(noise=3.0, seed=3))
    arena.score_all()
    assert "Agreement with earlier files" not in arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    page = arena.ann.browser.get(f"{HERE}/submissions/{third}").text
    lines = re.findall(r"#(\d+)</a> <small>(.+?)</small>.+?>([\d.]+)</td>.+?>(\d+) of 400", page)
    shown = [] if feedback is Feedback.BLIND else [(first, "best visible earlier file")]
    assert [(int(id_), role) for id_, role, *_ in lines] == [(second, "previous file"), *shown]
    one, two = (
        [float(line.split(",")[1]) for line in arena.truth.predictions(**made).decode().split()[1:]]
        for made in ({"noise": 3.0, "seed": 3}, {"noise": 3.0, "seed": 2})
    )
    assert float(lines[0][2]) == pytest.approx(rank_correlation(one, two), abs=1e-4)
    assert 0 < int(lines[0][3]) <= 400
    assert ("<details open><summary>Predictions" in page) is feedback.is_coarse
    lose_all_blobs(arena)
    again = arena.ann.browser.get(f"{HERE}/submissions/{third}").text
    assert without_form_tokens(again) == without_form_tokens(page)


def lose_all_blobs(arena):
    for path in (arena.settings.data_dir / "blobs").rglob("*"):
        if path.is_file():
            path.unlink()


def test_a_histogram_is_computed_once_and_the_file_not_read_again(arena):
    first, _ = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    lose_all_blobs(arena)
    again = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "All 400 predictions" in again
    assert without_form_tokens(again) == without_form_tokens(page)


def test_a_worker_stores_the_histogram_of_a_file_that_it_scores(arena):
    arena.scorer = Scorer(
        arena.database,
        arena.storage,
        lease=timedelta(seconds=40),
        histograms=Histograms.of(arena.settings),
    )
    first, _ = entered(arena)
    lose_all_blobs(arena)
    assert "All 400 predictions" in arena.ann.browser.get(f"{HERE}/submissions/{first}").text


def test_a_submission_page_omits_the_histogram_of_a_missing_file(arena):
    first, _ = entered(arena)
    lose_all_blobs(arena)
    answer = arena.ann.browser.get(f"{HERE}/submissions/{first}")
    assert answer.status_code == 200
    assert "All 400 predictions" not in answer.text


def test_a_page_links_to_the_neighboring_submissions_and_selects_its_own(arena):
    first, second = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert f'rel="next" href="{HERE}/submissions/{second}"' in page
    assert 'rel="prev"' not in page
    assert (
        f'rel="prev" href="{HERE}/submissions/{first}"'
        in arena.ann.browser.get(f"{HERE}/submissions/{second}").text
    )
    assert "Automatic" in page  # There are as many free slots as submissions.
    here = f"{HERE}/submissions/{first}"
    answer = arena.ann.post(f"{here}/selection", {"selected": "yes", "from": "submission"})
    assert (answer.status_code, answer.location) == (303, here)
    assert "Deselect" in arena.ann.browser.get(here).text


def test_a_page_shows_that_a_worker_is_scoring_the_file(arena):
    entered(arena)
    waiting = arena.submit(arena.ann, arena.truth.predictions(noise=4))
    address = f"{HERE}/submissions/{waiting}"
    assert re.search(r'class="here"[^>]*>Queued', arena.ann.browser.get(address).text)
    assert "is_being_scored" not in arena.ann.browser.get(f"{address}/status").json
    with arena.database.write() as session:
        (job_id,) = jobs.waiting(session, older_than=timedelta(), limit=9, now=db.now(session))
        jobs.claim(session, job_id=job_id, lease=timedelta(seconds=40), now=db.now(session))
    assert re.search(r'class="here"[^>]*>Checking and scoring', arena.ann.browser.get(address).text)
    assert arena.ann.browser.get(f"{address}/status").json["is_being_scored"]


def test_a_file_that_passed_the_check_on_the_page_is_pending_as_checked(arena):
    entered(arena)
    file = (io.BytesIO(arena.truth.predictions(noise=4)), "predictions.csv")
    address = arena.ann.post(f"{HERE}/submit", {"file": file}).location
    page = arena.ann.browser.get(address).text
    steps = re.findall(r"<li[^>]*>([A-Z][a-z]+)", page[page.index('class="stepper"') :])
    assert steps[:4] == ["Received", "Checked", "Queued", "Scoring"]
