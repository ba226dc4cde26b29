"""Analysis of a team's own submissions: possible gains."""

import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from grader import db
from grader.services.scoring import jobs
from grader.visibility import Feedback
from tests.fixtures.arena import without_form_tokens
from tests.webapp.submissions.test_comparison import entered

HERE = "/competitions/toxicity"


@pytest.fixture
def arena(make_arena: Callable[..., Any]):
    return make_arena()


def test_a_team_sees_the_largest_possible_gains(arena):
    first, _ = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
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


def test_without_the_table_no_page_shows_possible_gains(arena):
    first, second = entered(arena, Feedback.SCORE)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "Largest possible gains" not in page
    both = arena.ann.browser.get(f"{HERE}/submissions/compare?candidate={first}&baseline={second}").text
    assert "score and terms" in both
    assert "identities" not in both
    assert "BPSN" not in both


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
