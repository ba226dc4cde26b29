"""Organizers' view of submissions and leaderboards before participants can see them."""

from datetime import timedelta

import pytest

from grader.models import Role
from grader.services.closing import close
from grader.services.competitions import lookup
from grader.visibility import Feedback

HERE = "/competitions/toxicity"
API = "/api/v1"


@pytest.fixture
def site(make_arena):
    """Ann's scored file, shown without terms. Vera is an organizer of its competition, Eve of another."""
    arena = make_arena()
    arena.competition()
    arena.competition("other")
    arena.ann, arena.vera, arena.eve = arena.person("Ann"), arena.person("Vera"), arena.person("Eve")
    arena.submission_id = arena.submit(arena.ann, arena.truth.predictions(noise=2.0))
    arena.score_all()
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        competition.feedback = Feedback.SCORE
    arena.give_role(arena.vera, Role.VIEWER)
    arena.give_role(arena.eve, Role.VIEWER, "other")
    return arena


def test_an_organizer_opens_any_submission_with_the_tables_of_both_splits(site):
    page = site.vera.browser.get(f"{HERE}/submissions/{site.submission_id}").text
    assert "You see this page as an organizer" in page
    assert "Submitted by <bdi>Ann</bdi>" in page
    assert page.count("Positive AEG") == 2
    assert "the team's first score" in page.replace("&#39;", "'")
    assert "Description</h2>\n<form" not in page
    api = site.app.test_client()
    told = api.get(f"{API}/submissions/{site.submission_id}", headers=site.vera.bearer).json
    assert told["terms"]
    assert told["identities"]
    assert told["private_identities"]
    assert {"positive_aeg", "negative_aeg"} < set(told["private_identities"][0])


def test_only_organizers_see_the_private_leaderboard_between_settling_and_reveal(site):
    private = f"{HERE}/leaderboard/private"
    running = site.vera.browser.get(private)
    assert running.status_code == 403
    assert "are computed once the competition has closed" in running.text
    with site.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        competition.closes_at = site.now() - timedelta(minutes=1)
        close.settle(session, competition=competition)
    for path in (private, f"{private}.csv", f"{private}/{site.submission_id}"):
        assert site.vera.browser.get(path).status_code == 200, path
        for person in (site.ann, site.eve):
            assert person.browser.get(path).status_code == 403, path
        assert site.app.test_client().get(path).status_code == 403, path
    page = site.vera.browser.get(private).text
    assert "Only organizers see this page until the reveal" in page
    assert "leaderboard/private" in site.vera.browser.get(f"{HERE}/leaderboard").text
    assert "leaderboard/private" not in site.ann.browser.get(f"{HERE}/leaderboard").text
