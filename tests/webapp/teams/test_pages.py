"""Join page and Team page for every role in every state."""

import re
from html import unescape

import pytest

from grader.models import EntryMode
from tests.fixtures.arena import main_text

HERE = "/competitions/toxicity"
TEAM = f"{HERE}/team"
API = "/api/v1/competitions/toxicity"


@pytest.fixture
def join(arena):
    """Join a competition through the page."""

    def post(person, **form):
        return person.post(f"{HERE}/join", {"accepted_rules_version": "1", **form})

    return post


@pytest.fixture
def duo(arena):
    """Ann leads the team “Duo”, of which Bob is a member; Cleo has the team “Solo”."""
    arena.competition()
    ann, bob, cleo = (arena.person(name) for name in ("Ann", "Bob", "Cleo"))
    assert ann.post(TEAM, {"name": "Duo"}).status_code == 303
    assert bob.post(link_of(ann)).status_code == 303
    assert cleo.post(TEAM, {"name": "Solo"}).status_code == 303
    return ann, bob, cleo


def link_of(leader):
    """Create an invitation link and return its path."""
    made = leader.post(f"{TEAM}/link")
    assert made.status_code == 201
    found = re.search(r"<code>http://localhost(/competitions/toxicity/team/link/[\w-]+)</code>", made.text)
    assert found
    return found[1]


def buttons(page):
    main_part = page.text.partition("<main")[2]
    return set(re.findall(r"<button[^>]*>([^<]+)</button>", main_part))


def test_the_rules_are_public_and_visitors_are_asked_to_log_in(arena):
    arena.competition(rules="## Fair play\n\nOne account each. <script>x</script>")
    arena.format_texts()
    page = arena.app.test_client().get(f"{HERE}/join")
    assert "<h2>Fair play</h2>" in page.text
    assert "<script>x" not in page.text
    assert f'href="/login?next={HERE}/join"' in unescape(page.text).replace("%2F", "/")
    assert buttons(page) == set()


def test_rules_are_accepted_by_a_checkbox(arena, join):
    arena.competition(rules="Be kind.")
    ann = arena.person("Ann")
    assert f'<a class="button" href="{HERE}/join">Join</a>' in ann.browser.get(HERE).text
    refused = join(ann, accepted_rules_version="")
    assert refused.status_code == 403
    assert "read and accept version 1 of the rules" in main_text(refused)
    answer = join(ann)
    assert (answer.status_code, answer.headers["Location"]) == (303, HERE)
    assert 'aria-label="First steps"' in ann.browser.get(HERE).text
    assert "accepted version 1 of these rules" in main_text(ann.browser.get(f"{HERE}/join"))
    assert ">Join</a>" not in ann.browser.get(HERE).text
    arena.submit(ann, arena.truth.predictions())


def test_the_api_shows_the_rules_joins_and_shows_the_team(arena):
    arena.competition(rules="Be kind.")
    ann, client = arena.person("Ann"), arena.app.test_client()
    told = client.get(API, headers=ann.bearer).json
    assert (told["rules"], told["rules_version"], told["must_join"]) == ("Be kind.", 1, True)
    assert told["metric"]["weights"].keys() == {"overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"}

    def team():
        return client.get(f"{API}/team", headers=ann.bearer).json

    assert (team()["entry"], team()["team"], team()["selection"]) == ("outside", None, None)
    for sent, error in (({}, "rules_not_accepted"), ({"accepted_rules_version": 2}, "rules_changed")):
        refused = client.post(f"{API}/join", json=sent, headers=ann.bearer)
        assert (refused.status_code, refused.json["error"]) == (403, error)
    joined = client.post(f"{API}/join", json={"accepted_rules_version": 1}, headers=ann.bearer)
    assert (joined.status_code, joined.json["entry"]) == (200, "joined")
    assert team()["entry"] == "joined"
    sent_id = arena.submit(ann, arena.truth.predictions())
    arena.score_all()
    own = team()["team"]
    assert (own["name"], own["leader"], own["is_leader"], own["members"]) == ("Ann", "Ann", True, ["Ann"])
    assert (own["has_link"], own["mergers"], own["disqualified_because"]) == (False, [], None)
    assert team()["limits"]["pending"] == 0
    assert team()["selection"]["counts"] == [{"submission": sent_id, "reason": "automatic"}]


def test_an_administrator_decides_on_entry_requests(arena, join):
    root = arena.person("Root", is_admin=True)
    arena.competition(entry_mode=EntryMode.APPROVAL)
    ann, bob = arena.person("Ann"), arena.person("Bob")
    for person in (ann, bob):
        assert join(person).headers["Location"] == f"{HERE}/join"
        assert "An organizer will review your request" in main_text(person.browser.get(f"{HERE}/join"))
    assert ann.browser.get(f"{HERE}/entries").status_code == 403
    assert "Requests" not in ann.browser.get(HERE).text
    page = root.browser.get(f"{HERE}/entries")
    assert ("Ann" in main_text(page), "Bob" in main_text(page)) == (True, True)
    for name, decision in (("Ann", "yes"), ("Bob", "no")):
        assert root.post(f"{HERE}/entries", {"name": name, "admit": decision}).status_code == 303
    assert "You have joined" in main_text(ann.browser.get(f"{HERE}/join"))
    assert "did not admit you" in main_text(bob.browser.get(f"{HERE}/join"))
    unknown = root.post(f"{HERE}/entries", {"name": "Nobody", "admit": "yes"})
    assert (unknown.status_code, "no account named" in main_text(unknown)) == (404, True)


def test_leader_and_member_see_the_actions_they_may_use(duo):
    ann, bob, _ = duo
    leading = {
        "Rename",
        "Make leader",
        "Create a new link",
        "Revoke the link",
        "Send request",
        "Leave",
    }
    assert buttons(ann.browser.get(TEAM)) == leading
    assert buttons(bob.browser.get(TEAM)) == {"Leave"}


def test_a_link_is_shown_once_and_joins_the_team(arena, duo):
    ann, _, _ = duo
    path = link_of(ann)
    assert path not in ann.browser.get(TEAM).text
    dan = arena.person("Dan")
    assert "Join Duo ?" in main_text(dan.browser.get(path))
    assert dan.post(path).headers["Location"] == TEAM
    assert "Duo" in main_text(dan.browser.get(TEAM))
    ann.post(f"{TEAM}/link/revoke-link")
    assert dan.browser.get(path).status_code == 404


def test_a_link_redirects_new_participants_through_the_rules_and_back(arena, join):
    arena.competition(rules="Be kind.")
    ann, bob = arena.person("Ann"), arena.person("Bob")
    join(ann)
    ann.post(TEAM, {"name": "Duo"})
    path = link_of(ann)
    page = bob.browser.get(path)
    assert f"{HERE}/join?next={path}" in unescape(page.text).replace("%2F", "/")
    assert bob.post(path).status_code == 403
    assert join(bob, next=path).headers["Location"] == path
    assert bob.post(path).status_code == 303


def test_joining_never_redirects_to_another_site(arena, join):
    arena.competition(rules="Be kind.")
    for place, target in enumerate(("https://evil.example/", "//evil.example", "/\\evil.example")):
        assert join(arena.person(f"P{place}"), next=target).headers["Location"] == "/"


def test_teams_merge_through_their_pages(arena, duo):
    ann, bob, cleo = duo
    arena.submit(cleo, arena.truth.predictions(seed=5))
    assert ann.post(f"{TEAM}/mergers", {"name": "solo"}).status_code == 303
    assert "Your team has asked Solo to merge into it" in main_text(ann.browser.get(TEAM))
    assert "Duo has asked your team to merge into it" in main_text(cleo.browser.get(TEAM))
    assert "Together: 3 members, 1 used submission" in main_text(cleo.browser.get(TEAM))
    assert buttons(cleo.browser.get(TEAM)) >= {"Accept", "Decline"}
    assert cleo.confirm(f"{TEAM}/mergers/1/accept").status_code == 303
    page = main_text(bob.browser.get(TEAM))
    assert "3 members of at most 5, 1 submission used." in page
    assert "Cleo" in page


def test_guesses_of_an_entry_code_are_limited(make_arena):
    arena = make_arena(rate_limits=True)
    arena.competition(entry_mode=EntryMode.CODE, entry_code="fair-2026")
    ann, bob = arena.person("Ann"), arena.person("Bob")
    token = arena.form_token(ann.browser, "/account")
    form = {"csrf_token": token, "code": "guess"}
    statuses = [ann.browser.post(f"{HERE}/join", data=form).status_code for _ in range(11)]
    assert statuses == [403] * 10 + [429]
    assert bob.post(f"{HERE}/join", {"code": "fair-2026"}).status_code == 303
