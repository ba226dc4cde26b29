"""Unlisted competitions: who finds and reads them."""

import pytest

from grader.models import Role
from grader.visibility import Visibility

HERE = "/competitions/toxicity"
API = "/api/v1/competitions"
PATHS = (
    HERE,
    f"{HERE}/leaderboard",
    f"{HERE}/data",
    f"{HERE}/log",
    f"{HERE}/evaluation",
    f"{HERE}/submissions",
)


@pytest.fixture
def site(arena):
    """An unlisted competition in which Ann takes part, which Olga organizes, and which Eve has heard of."""
    arena.competition(visibility=Visibility.UNLISTED)
    arena.competition("other", title="Other")
    arena.ann, arena.eve, arena.olga = (arena.person(name) for name in ("Ann", "Eve", "Olga"))
    arena.give_role(arena.olga, Role.VIEWER)
    arena.ann.post(f"{HERE}/join", {"accepted_rules_version": "1"})
    arena.submit(arena.ann, arena.truth.predictions())
    arena.score_all()
    return arena


def codes(browser):
    return {browser.get(path).status_code for path in PATHS}


def listed(site, person):
    found = site.app.test_client().get(API, headers=person.bearer).json
    return sorted(each["slug"] for each in found["competitions"])


@pytest.mark.parametrize("is_revealed", [False, True])
def test_only_participants_and_organizers_find_and_read_it(site, is_revealed):
    if is_revealed:
        site.reveal()
    visitor = site.app.test_client()
    for person in (site.ann, site.olga):
        assert codes(person.browser) == {200}
        assert listed(site, person) == ["other", "toxicity"]
        assert HERE in person.browser.get("/").text
    assert listed(site, site.eve) == ["other"]
    for browser, code in ((visitor, 302), (site.eve.browser, 403)):
        assert codes(browser) == {code}
        assert HERE not in browser.get("/").text
    for path in ("", "/leaderboard", "/pages", "/data"):
        assert visitor.get(f"{API}/toxicity{path}", headers=site.eve.bearer).status_code == 403, path
        assert visitor.get(f"{API}/toxicity{path}").status_code == 401, path
        assert visitor.get(f"{API}/toxicity{path}", headers=site.ann.bearer).status_code == 200, path


def test_users_with_its_address_join_and_then_read_it(site):
    page = site.eve.browser.get(f"{HERE}/join")
    assert page.status_code == 200
    assert site.eve.post(f"{HERE}/join", {"accepted_rules_version": "1"}).status_code == 303
    assert codes(site.eve.browser) == {200}
