"""Comparison page: own submissions, benchmarks, and other teams' files after the reveal."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from grader.metrics import MetricSettings
from grader.metrics.bias.analysis.power_means import term_costs
from grader.models import Split, SubmissionKind
from grader.ranking.order import SCALE
from grader.services.audit.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.leaderboards.paired_differences import ChangeResult
from grader.services.leaderboards.submission_results import SplitResult
from grader.services.moderation import decisions
from grader.services.submissions.comparison import ComparedSide, Contender
from grader.services.teams import rosters
from grader.visibility import Feedback
from webapp.submissions.comparison import compared

HERE = "/competitions/toxicity"
WHERE = f"{HERE}/submissions/compare"


@pytest.fixture
def arena(make_arena: Callable[..., Any]):
    return make_arena()


def entered(arena, feedback: Feedback = Feedback.OPEN) -> tuple[int, int]:
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


def benchmark(arena) -> int:
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


def selected(page: str) -> list[int]:
    return [int(found) for found in re.findall(r'<option value="(\d+)" selected>', page)]


def test_two_own_submissions_are_shown_side_by_side(arena):
    first, second = entered(arena)
    page = arena.ann.browser.get(f"{WHERE}?candidate={first}&baseline={second}").text
    assert f'<th scope="col" class="number">#{second}</th>' in page
    assert "Public rows: identities" in page
    assert "Private rows" not in page
    scores = re.search(r"Score</th><td[^>]*>(\S+)</td><td[^>]*>(\S+)</td><td[^>]*>(\S+)</td>", page)
    assert scores
    assert float(scores[1]) - float(scores[2]) == pytest.approx(float(scores[3]), abs=1e-9)
    assert float(scores[3]) > 0  # The candidate has less noise.
    assert f"#{first} minus the baseline #{second}" in page
    assert f"#{first} is {scores[3][1:]} better than #{second}" in page
    parts = [float(each) for each in re.findall(r"<small>([-+]?\d\.\d{5}) of the score</small>", page)]
    assert sum(parts) == pytest.approx(float(scores[3]), abs=1e-4)
    assert [abs(each) for each in parts] == sorted((abs(each) for each in parts), reverse=True)
    changes = [abs(float(each)) for each in re.findall(r'change [a-z]+">([-+]?\d\.\d\d)</td>', page)]
    assert len(changes) == 9
    assert changes == sorted(changes, reverse=True)
    arena.reveal()
    assert "Private rows" in arena.ann.browser.get(f"{WHERE}?candidate={first}&baseline={second}").text


def test_submissions_of_others_or_of_another_competition_cannot_be_compared(arena):
    first, second = entered(arena)
    assert arena.bob.browser.get(f"{WHERE}?candidate={first}&baseline={second}").status_code == 404
    arena.competition("elsewhere", title="Elsewhere")
    assert (
        arena.ann.browser.get(f"/competitions/elsewhere/submissions/compare?candidate={first}").status_code
        == 404
    )


def test_by_default_the_newest_is_compared_with_the_best_and_options_show_details(arena):
    first, second = entered(arena)
    page = arena.ann.browser.get(WHERE).text
    assert selected(page) == [second, first]
    assert re.search(rf">#{first} · predictions\.csv · 0\.\d{{5}} · \d+ \w+ \d\d:\d\d UTC</option>", page)
    assert f"#{second} is 0." in page
    assert "worse than" in page


def test_a_team_without_a_scored_submission_sees_how_to_start(arena):
    entered(arena)
    assert "There is nothing to compare yet" in arena.bob.browser.get(WHERE).text


@pytest.mark.parametrize(
    ("feedback", "shows"),
    [
        (Feedback.OPEN, ("Terms of the score",)),
        (Feedback.SCORE, ()),
        (Feedback.TIERED, ()),
        (Feedback.BLIND, None),
    ],
)
def test_the_comparison_with_a_benchmark_shows_only_what_the_leaderboard_shows(
    arena, feedback: Feedback, shows: tuple[str, ...] | None
):
    first, _ = entered(arena, feedback)
    lines = benchmark(arena)
    answer = arena.ann.browser.get(f"{WHERE}?candidate={first}&baseline={lines}")
    if shows is None:
        assert answer.status_code == 404
        assert "n-grams" not in arena.ann.browser.get(WHERE).text
        return
    assert "the benchmark n-grams" in answer.text
    assert ("Terms of the score" in answer.text) is bool(shows)
    assert "Identities" not in answer.text
    arena.reveal()
    assert "Private rows: identities" in arena.ann.browser.get(answer.request.url).text


def test_after_the_reveal_any_submission_that_counted_can_be_compared(arena):
    first, second = entered(arena)
    theirs = arena.submit(arena.bob, arena.truth.predictions(noise=4, seed=5))
    arena.score_all()
    address = f"{WHERE}?candidate={first}&baseline={theirs}"
    refused = arena.ann.browser.get(address)
    assert refused.status_code == 404
    assert refused.text == arena.ann.browser.get(address.replace(f"={theirs}", "=999")).text.replace(
        "999", str(theirs)
    )
    arena.reveal()
    page = arena.ann.browser.get(address).text
    assert f"#{theirs} of Bob" in page
    assert "Private rows: identities" in page
    assert "Other teams" in page
    assert arena.bob.browser.get(f"{WHERE}?candidate={theirs}&baseline={first}").status_code == 200
    both = {arena.bob.browser.get(f"{WHERE}?baseline={each}").status_code for each in (first, second)}
    assert both == {200, 404}  # Only one of Ann's submissions represents her team.


def test_each_revealed_team_links_to_a_comparison_with_the_viewers_team(arena):
    entered(arena)
    theirs = arena.submit(arena.bob, arena.truth.predictions(noise=4, seed=5))
    arena.score_all()
    stranger = arena.app.test_client()
    with arena.database.read() as session:
        competition = lookup.get(session, slug="toxicity")
        teams = {
            name: rosters.find_team(session, competition=competition, user=person.user).id
            for name, person in (("Ann", arena.ann), ("Bob", arena.bob))
        }
    bobs, anns = (f"{HERE}/teams/{teams[name]}" for name in ("Bob", "Ann"))
    assert "Compare with yours" not in arena.ann.browser.get(bobs).text
    arena.reveal()
    counted = f"{HERE}/leaderboard/private/{theirs}"
    links = [
        re.findall(r'href="([^"]+)">Compare with yours<', arena.ann.browser.get(path).text)
        for path in (bobs, counted)
    ]
    assert links[0] == links[1] and len(links[0]) == 1
    page = arena.ann.browser.get(links[0][0].replace("&amp;", "&")).text
    assert selected(page)[1] == theirs
    assert f"#{theirs} of Bob" in page
    for path in (bobs, counted):
        assert "Compare with yours" not in stranger.get(path).text
    assert "Compare with yours" not in arena.ann.browser.get(anns).text
    final = stranger.get(f"{HERE}/leaderboard/final/1").text
    assert f'href="{bobs}"' in final and f'href="{anns}"' in final


def result(units: int, *, error: float | None, **terms: float) -> SplitResult:
    errors = {} if error is None else dict.fromkeys(["score", *terms], error)
    costs = term_costs(terms, MetricSettings())
    return SplitResult(SCALE.text(units), units, terms, costs, (), errors=errors)


def sentence(one: SplitResult, other: SplitResult, stored: ChangeResult | None = None) -> str:
    sides = [
        ComparedSide(
            Contender(number, "f.csv", "", False, datetime(2026, 1, 1, tzinfo=UTC), None),
            True,
            {Split.PUBLIC: each},
        )
        for number, each in ((2, one), (1, other))
    ]
    (split,) = compared(*sides, {Split.PUBLIC: stored})
    return split.sentence


LOW = {"overall_auc": 0.8, "subgroup_auc": 0.7, "bpsn_auc": 0.7, "bnsp_auc": 0.7}


RISEN = LOW | {"bnsp_auc": 0.76, "overall_auc": 0.82, "bpsn_auc": 0.7001}
CLEAR = ChangeResult(1, "+0.02003", "0.004", True)


def test_the_sentence_states_the_stored_difference_and_its_largest_contribution():
    sides = result(74503, error=0.005, **RISEN), result(72500, error=0.005, **LOW)
    assert sentence(*sides, CLEAR) == (
        "#2 is 0.02003 better than #1, ± 0.004 in a paired test: more than chance explains. "
        "Largest contribution: BNSP +0.0600 (+0.01500 of the score)."
    )
    assert sentence(*sides, replace(CLEAR, is_clear=False)) == (
        "#2 is 0.02003 better than #1, ± 0.004 in a paired test: within chance."
    )


def test_without_a_stored_difference_the_sentence_has_both_standard_errors_and_no_verdict():
    found = sentence(result(74503, error=0.005, **RISEN), result(72500, error=0.01, **LOW))
    errors = "The standard errors of the two scores are 0.005 and 0.010."
    assert found == f"#2 is 0.02003 better than #1. {errors}"


def test_without_standard_errors_the_sentence_mentions_neither_chance_nor_terms():
    risen = LOW | {"bnsp_auc": 0.9}
    assert sentence(result(77500, error=None, **risen), result(72500, error=0.01, **LOW)) == (
        "#2 is 0.05000 better than #1."
    )


def test_hidden_terms_are_not_named():
    found = sentence(result(77500, error=0.001), result(72500, error=0.001), CLEAR)
    assert found == "#2 is 0.05000 better than #1, ± 0.004 in a paired test: more than chance explains."


def test_coarse_scores_are_compared_only_by_their_displayed_values(arena):
    first, second = entered(arena, Feedback.TIERED)
    page = arena.ann.browser.get(f"{WHERE}?candidate={first}&baseline={second}").text
    assert re.search(rf"The displayed score of #{first} is 0\.\d{{3}} higher than that of #{second}\.", page)
    assert "chance" not in page
    assert "Until the reveal, scores are shown in bands" in page
