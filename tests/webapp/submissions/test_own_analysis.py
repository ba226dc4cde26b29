"""Analysis of a team's own submissions: losses."""

import re
from datetime import timedelta

import pytest
from markupsafe import escape

from grader import db
from grader.services.submissions import scoring_jobs as jobs
from tests.webapp.submissions.test_comparison import entered

HERE = "/competitions/toxicity"


def test_page_and_api_have_one_list_of_losses_that_adds_up_to_the_score(arena):
    first, _ = entered(arena)
    page = arena.ann.browser.get(f"{HERE}/submissions/{first}").text
    rows = re.findall(
        r'<li class="(\w*)[^"]*">.+?<bdi>([^<]+)</bdi>.+?<strong>-(\d\.\d{5})<', page, re.DOTALL
    )
    own = f"/api/v1/submissions/{first}"
    answer = arena.ann.browser.get(f"{own}/losses", headers=arena.ann.bearer).json
    losses = answer["losses"]
    amounts = [each["amount"] for each in losses]
    assert amounts == sorted(amounts, reverse=True)
    details = arena.ann.browser.get(own, headers=arena.ann.bearer).json
    total = sum(each["amount"] for each in losses)
    assert 1 - total == pytest.approx(details["public_score"], abs=1e-9)
    assert 1 - sum(float(row[2]) for row in rows if row[0] != "part") == pytest.approx(
        details["public_score"], abs=1e-9
    )
    assert details["weakest_term"] == answer["terms"][0]["term"]


def test_a_page_shows_that_a_worker_is_scoring_the_file(arena):
    entered(arena)
    waiting = arena.submit(arena.ann, arena.truth.predictions(noise=4))
    address = f"{HERE}/submissions/{waiting}"
    assert re.search(r'class="here"[^>]*>Queued', arena.ann.browser.get(address).text)
    live = {"Accept": "application/json"}
    etag = arena.ann.browser.get(address, headers=live).headers["ETag"]
    assert f'data-etag="{escape(etag)}"' in arena.ann.browser.get(address).text
    assert arena.ann.browser.get(address, headers=live | {"If-None-Match": etag}).status_code == 304
    with arena.database.write() as session:
        (job_id,) = jobs.waiting(session, older_than=timedelta(), limit=9, now=db.now(session))
        jobs.claim(session, job_id=job_id, lease=timedelta(seconds=40), now=db.now(session))
    assert re.search(r'class="here"[^>]*>Checking and scoring', arena.ann.browser.get(address).text)
    assert arena.ann.browser.get(address, headers=live | {"If-None-Match": etag}).status_code == 200
