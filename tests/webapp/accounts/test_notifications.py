"""Notifications: page, bell, API operations."""

import re

from grader.models import Notification, Team
from grader.services.audit.log import Actor
from grader.services.competitions import announcements, lookup
from grader.services.notifications import NotificationKind
from tests.fixtures.services import call
from webapp.accounts.notifications import NotificationView

HERE = "/competitions/toxicity"
API = "/api/v1/notifications"


def announce(arena, title: str):
    with arena.database.write() as session:
        call(
            announcements.post,
            session,
            competition=lookup.get(session, slug="toxicity"),
            title=title,
            body="Text",
            by_mail=False,
            actor=Actor(None, "tests"),
        )


def test_an_announcement_rings_the_bell_and_opening_it_marks_it_as_read(arena):
    arena.competition()
    ann, bob = arena.person("Ann"), arena.person("Bob")
    ann.post(f"{HERE}/team", {"name": "Solo"})
    assert "You have no notifications" in ann.browser.get("/notifications").text
    announce(arena, "New <data>")
    announce(arena, "Second")
    page = ann.browser.get("/notifications").text
    assert 'aria-label="2 new notifications"' in page
    assert "Announcement: New &lt;data&gt;" in page and ">Toxicity</a>" in page
    number = re.findall(r'name="id" value="(\d+)"', page)[-1]
    opened = ann.post("/notifications/read", {"id": number})
    assert (opened.status_code, opened.headers["Location"]) == (303, f"{HERE}#announcement-1")
    page = ann.browser.get("/notifications").text
    assert 'aria-label="1 new notification"' in page and page.count(">new</span>") == 1
    ann.post("/notifications/read")
    page = ann.browser.get("/notifications").text
    assert 'aria-label="No new notifications"' in page and "Mark all as read" not in page
    assert "You have no notifications" in bob.browser.get("/notifications").text
    foreign = bob.post("/notifications/read", {"id": number})
    assert foreign.headers["Location"] == "/notifications"


def test_the_api_lists_notifications_by_cursor_and_marks_them_as_read(arena):
    arena.competition()
    ann, client = arena.person("Ann"), arena.app.test_client()
    ann.post(f"{HERE}/team", {"name": "Solo"})
    for number in range(52):
        announce(arena, f"News {number}")
    first = client.get(API, headers=ann.bearer).json
    rest = client.get(first["next"], headers=ann.bearer).json
    told = [*first["notifications"], *rest["notifications"]]
    assert [each["text"] for each in told] == [f"Announcement: News {n}" for n in range(52)][::-1]
    assert (first["unread_count"], rest["next"]) == (52, None)
    assert told[0] == {
        "id": told[0]["id"],
        "kind": "announcement",
        "competition": "toxicity",
        "text": "Announcement: News 51",
        "url": f"{HERE}#announcement-52",
        "at": told[0]["at"],
        "is_read": False,
    }
    ids = [each["id"] for each in told[1:]]
    marked = client.post(f"{API}/read", json={"ids": ids}, headers=ann.bearer)
    assert marked.status_code == 204
    left = client.get(API, headers=ann.bearer).json
    assert left["unread_count"] == 1
    assert [each["is_read"] for each in left["notifications"][:2]] == [False, True]
    assert client.post(f"{API}/read", json={}, headers=ann.bearer).status_code == 204
    assert client.get(API, headers=ann.bearer).json["unread_count"] == 0
    assert client.post(f"{API}/read", json={"ids": ["x"]}, headers=ann.bearer).status_code == 400


def test_every_kind_has_a_sentence_and_a_link(arena):
    competition, team = arena.competition(), Team(name="Kings")
    with arena.app.test_request_context():
        for kind in NotificationKind:
            row = Notification(competition=competition, team=team, kind=kind.value, subject_id=7)
            view = NotificationView(row, is_read=False)
            assert "{" not in view.text and view.url.startswith(HERE), kind


def test_no_page_offers_mail_on_a_site_that_sends_none(arena):
    ann = arena.person("Ann")
    assert "e-mail" not in ann.browser.get("/notifications").text
