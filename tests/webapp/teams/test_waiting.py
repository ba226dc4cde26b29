"""Bell on every page, and the list of pending requests."""

import re

from sqlalchemy.exc import TimeoutError  # noqa: A004

from grader.services.teams import waiting
from tests.fixtures.statements import recorded

HERE = "/competitions/toxicity"


def bell(page) -> str:
    found = re.search(r'class="bell"[^>]*aria-label="([^"]+)"', page.text)
    assert found
    return found[1]


def test_every_page_shows_the_count_and_the_list_names_the_requests(arena):
    arena.competition()
    ann, bob = arena.person("Ann"), arena.person("Bob")
    ann.post(f"{HERE}/team", {"name": "Duo"})
    assert bell(bob.browser.get("/")) == "No new notifications"
    assert "You have no notifications" in bob.browser.get("/notifications").text
    ann.post(f"{HERE}/team/invitations", {"name": "Bob"})
    for path in ("/", HERE, "/account", "/competitions/nowhere"):
        assert bell(bob.browser.get(path)) == "1 new notification"
    page = bob.browser.get("/notifications").text
    assert "<bdi>Ann</bdi> invites you to join the team" in page and f'href="{HERE}/team"' in page
    answer = arena.app.test_client().get("/api/v1/waiting", headers=bob.bearer).json
    (item,) = answer["waiting"]
    assert (item["kind"], item["competition"], item["team"], item["person"]) == (
        "invitation",
        "toxicity",
        "Duo",
        "Ann",
    )


def test_an_anonymous_visitor_has_no_bell(arena):
    page = arena.app.test_client().get("/").text
    assert 'class="bell"' not in page


def test_the_page_and_the_bell_share_one_statement(arena):
    ann = arena.person("Ann")
    ann.browser.get("/account")
    with recorded(arena.database) as sent:
        assert ann.browser.get("/notifications").status_code == 200
    assert sum("merge_request" in line for line in sent.lines) == 1
    assert sent.lines.count("read") == 1


def test_a_database_error_hides_only_the_bell(arena, monkeypatch):
    ann = arena.person("Ann")

    def refuse(*_, **__):
        raise TimeoutError("no connection is free")

    monkeypatch.setattr(waiting, "for_person", refuse)
    page = ann.browser.get("/account")
    assert page.status_code == 200 and bell(page) == "No new notifications"


def test_a_token_without_the_organize_scope_cannot_list_entry_requests(arena):
    arena.competition(entry_mode="approval")
    root, bob = arena.person("Root", is_admin=True), arena.person("Bob")
    bob.post(f"{HERE}/join", {"accepted_rules_version": "1"})
    assert bell(root.browser.get("/")) == "1 new notification"
    assert f'href="{HERE}/entries"' in root.browser.get("/notifications").text
    client = arena.app.test_client()
    (item,) = client.get("/api/v1/waiting", headers=root.bearer).json["waiting"]
    assert (item["kind"], item["count"], item["team"]) == ("entry", 1, None)
    wanted = {"name": "reader", "scopes": ["read"]}
    reader = client.post("/api/v1/tokens", json=wanted, headers=root.bearer).json["token"]
    told = client.get("/api/v1/waiting", headers={"Authorization": f"Bearer {reader}"})
    assert told.json == {"waiting": []}
