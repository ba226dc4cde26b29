"""Analysis of a team's own submissions: possible gains."""

import io
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from grader import db
from grader.models import Score
from grader.services.scoring import jobs
from grader.visibility import Feedback
from tests.fixtures.arena import without_form_tokens
from tests.webapp.submissions.test_comparison import entered

HERE = "/competitions/toxicity"


@pytest.fixture
def arena(make_arena: Callable[..., Any]):
    return make_arena()


def test_page_and_api_have_one_list_of_gains_that_starts_with_the_largest(arena):
    first, _ = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    assert "Largest possible gains" not in page
    assert "improve the score by less than its standard error, 0.0" in page
    own = f"/api/v1/submissions/{first}"
    assert arena.ann.browser.get(f"{own}/gains", headers=arena.ann.bearer).json["gains"] == []
    with arena.database.write() as session:
        for score in session.scalars(select(Score)):
            score.errors = score.errors | {"score": 0.0001}
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    bars = re.findall(r"<bdi>(.+?)</bdi> <small>(\w+)</small></span> <strong .+?>\+(\d\.\d{5})<", page)
    assert bars == sorted(bars, key=lambda bar: -float(bar[2]))
    assert f"largest gain: {bars[0][1]}" in page.replace("Largest", "largest")
    assert f"improve the score by {bars[0][2]}, which is the largest possible gain" in page
    assert re.findall(r'<th scope="row"><bdi>([^<]+)', page)[0] == bars[0][0]
    listed = arena.ann.browser.get(f"{own}/gains", headers=arena.ann.bearer).json["gains"]
    assert [(each["name"], f"{each['gain']:.5f}") for each in listed] == [(bar[0], bar[2]) for bar in bars]
    details = arena.ann.browser.get(own, headers=arena.ann.bearer).json
    assert (details["weakest_term"], listed[0]["value"]) == (listed[0]["cell"], round(listed[0]["value"], 2))
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
