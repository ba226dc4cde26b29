"""Comparison page: own submissions, benchmarks, and other teams' files after the reveal."""

import re

import pytest

from grader.models import SubmissionKind
from grader.services.competitions import acting, lookup
from grader.services.site.log import Actor
from grader.services.submissions import decisions
from grader.visibility import Feedback

HERE = "/competitions/toxicity"
WHERE = f"{HERE}/submissions/compare"


def entered(arena, feedback=Feedback.OPEN):
    """Create a competition in which Ann has two scored submissions, the second one worse."""
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


def benchmark(arena):
    """Add a benchmark that is visible on the leaderboard."""
    root = arena.person("Root", is_admin=True)
    submission_id: int = arena.submit(root, arena.truth.predictions(noise=2.5, seed=3), description="n-grams")
    arena.score_all()
    with arena.database.write() as session:
        act = acting.begin(
            session, competition=lookup.get(session, slug="toxicity"), actor=Actor(None, "tests")
        )
        decisions.mark(act, submission_id=submission_id, kind=SubmissionKind.BENCHMARK)
    return submission_id


def test_own_submissions_are_shown_side_by_side_with_a_standard_error_on_request(arena):
    first, second = entered(arena)
    where = f"{WHERE}?candidate={first}&baseline={second}"
    page = arena.ann.browser.get(where).text
    assert f'<th scope="col" class="number">#{second}</th>' in page and "Private rows" not in page
    scores = re.search(r"Score</th><td[^>]*>(\S+)</td><td[^>]*>(\S+)</td><td[^>]*>(\S+)</td>", page)
    assert scores and float(scores[1]) - float(scores[2]) == pytest.approx(float(scores[3]), abs=1e-9)
    assert float(scores[3]) > 0  # The candidate has less noise.
    assert len(re.findall(r"(Subgroup|BPSN|BNSP)</th>", page)) == 3 + 9
    form = {"submission": first, "baseline": second, "csrf_token": arena.form_token(arena.ann.browser)}
    answer = arena.ann.browser.post(f"{HERE}/comparisons", data=form, follow_redirects=True)
    assert answer.request.url.endswith(where) and "data-live" in answer.text
    arena.work()
    shown = arena.ann.browser.get(where).text
    assert re.search(r"± 0\.\d+ on the same rows: ", shown)
    assert "data-live" not in shown and "Private rows" not in shown
    arena.reveal()
    assert len(re.findall("on the same rows:", arena.ann.browser.get(where).text)) == 2


def test_after_the_reveal_any_submission_that_counted_can_be_compared(arena):
    first, second = entered(arena)
    theirs = arena.submit(arena.bob, arena.truth.predictions(noise=4, seed=5))
    arena.score_all()
    address = f"{WHERE}?candidate={first}&baseline={theirs}"
    refused = arena.ann.browser.get(address)
    assert refused.status_code == 404
    unknown = arena.ann.browser.get(address.replace(f"={theirs}", "=987654321")).text
    assert refused.text == unknown.replace("987654321", str(theirs))
    arena.reveal()
    page = arena.ann.browser.get(address).text
    assert f"#{theirs}</th>" in page and "Other teams" in page
    assert "Private rows" in page and page.count("BPSN</th>") > 2
    both = {arena.bob.browser.get(f"{WHERE}?baseline={each}").status_code for each in (first, second)}
    assert both == {200, 404}  # Only one of Ann's submissions represents her team.


def test_coarse_scores_are_compared_only_by_their_displayed_values(arena):
    first, second = entered(arena, Feedback.TIERED)
    page = arena.ann.browser.get(f"{WHERE}?candidate={first}&baseline={second}").text
    assert re.search(r'"value">\+?0\.\d{3}<', page) and "chance" not in page
    assert "Until the reveal, scores are shown in bands" in page
