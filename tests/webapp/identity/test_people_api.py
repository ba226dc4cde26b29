"""User administration over the API: accounts, reset links, invitations, CSV lists."""

import pytest

from tests.fixtures.desk import API, Desk


@pytest.fixture
def root(arena):
    """An administrator."""
    return Desk(arena.person("Root", is_admin=True))


def test_only_administrators_list_people(root):
    ann = Desk(root.arena.person("Ann"))
    ann("GET", f"{API}/people", expect=403)
    people = root("GET", f"{API}/people").json["people"]
    assert [each["name"] for each in people] == ["Ann", "Root"]
    assert [each["name"] for each in root("GET", f"{API}/people?q=oo").json["people"]] == ["Root"]
    link = root("POST", f"{API}/people/{people[0]['id']}/reset-link", expect=201).json
    assert link["name"] == "Ann"
    assert root.arena.app.test_client().get(link["url"]).status_code == 200
    root("POST", f"{API}/people/99999/reset-link", expect=404)


def test_suspended_user_loses_the_session_and_token_and_sees_the_reason_at_login(root):
    ann = root.arena.person("Ann")
    person = f"{API}/people/{ann.user.id}"
    assert (
        root("POST", f"{person}/suspend", json={"reason": " "}, expect=400).json["error"] == "reason_missing"
    )
    root("POST", f"{person}/suspend", json={"reason": "Shared accounts"}, expect=204)
    Desk(ann)("GET", f"{API}/me", expect=401)
    assert ann.browser.get("/account").status_code == 302
    refused = root.arena.log_in(ann.browser, "Ann")
    assert refused.status_code == 403
    assert "Shared accounts" in refused.text
    listed = root("GET", f"{API}/people?q=Ann").json["people"]
    assert listed[0]["suspended_at"]
    root("POST", f"{person}/suspend", json={"reason": "Again"}, expect=409)
    root("POST", f"{person}/reinstate", json={}, expect=204)
    assert root.arena.log_in(ann.browser, "Ann").status_code == 302
    root("DELETE", person, json={"reason": "On request"}, expect=204)
    root("DELETE", person, json={"reason": "On request"}, expect=404)
    assert "Wrong name or password" in root.arena.log_in(ann.browser, "Ann").text


def test_administrator_suspends_reinstates_and_deletes_an_account_on_the_page(root):
    ann, page = root.arena.person("Ann"), root.person
    path = f"/people/{ann.user.id}"
    assert "Enter a reason" in page.post(f"{path}/suspend", {"reason": ""}).text
    assert "Spam &lt;b&gt;" in page.post(f"{path}/suspend", {"reason": "Spam <b>"}).text
    assert root("GET", f"{API}/people?q=Ann").json["people"][0]["suspended_at"] is None
    page.confirm(f"{path}/suspend", {"reason": "Spam <b>"})
    assert "Spam &lt;b&gt;" in page.browser.get("/people").text
    stale = page.post(f"{path}/suspend", {"reason": "Spam"})
    assert (stale.status_code, "already suspended" in stale.text) == (409, True)
    assert page.post(f"{path}/reinstate", {"reason": ""}).status_code == 303
    assert "is reinstated" in page.browser.get("/people").text
    assert "suspend the account first" in page.post(f"{path}/delete", {"reason": "Left"}).text
    page.confirm(f"{path}/delete", {"reason": "Left"})
    assert "The account Ann is deleted." in page.browser.get("/people").text
    assert root("GET", f"{API}/people?q=Ann").json["people"] == []
