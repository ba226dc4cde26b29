"""User administration over the API: accounts, reset links, invitations, CSV lists."""

import io

import pytest

from tests.fixtures.desk import API, Desk


@pytest.fixture
def root(arena) -> Desk:
    """An administrator."""
    return Desk(arena.person("Root", is_admin=True))


def test_only_administrators_list_people(root: Desk):
    ann = Desk(root.arena.person("Ann"))
    ann("GET", f"{API}/people", expect=403)
    people = root("GET", f"{API}/people").json["people"]
    assert [each["name"] for each in people] == ["Ann", "Root"]
    assert [each["name"] for each in root("GET", f"{API}/people?q=oo").json["people"]] == ["Root"]
    link = root("POST", f"{API}/people/{people[0]['id']}/reset-link", expect=201).json
    assert link["name"] == "Ann"
    assert root.arena.app.test_client().get(link["url"]).status_code == 200
    root("POST", f"{API}/people/99999/reset-link", expect=404)


def test_each_address_of_a_file_gets_an_invitation_link(root: Desk):
    csv = "name,Email\nFay,fay@example.org\n\nGus,gus@example.org\n".encode("utf-8-sig")
    data = {"file": (io.BytesIO(csv), "people.csv")}
    made = root("POST", f"{API}/invitations/csv", data=data, expect=201).json["invitations"]
    assert [each["email"] for each in made] == ["fay@example.org", "gus@example.org"]
    client = root.arena.app.test_client()
    assert {client.get(each["url"]).status_code for each in made} == {200}
    one = root("POST", f"{API}/invitations", expect=201).json
    assert (one["email"], client.get(one["url"]).status_code) == (None, 200)


@pytest.mark.parametrize(
    ("csv", "problems"),
    [
        (b"fay@example.org\nnobody\nfay@example.org\n", {2: "valid e-mail address", 3: "already on line 1"}),
        (b"", {1: "no addresses"}),
        (b"email\n\xff\n", {2: "UTF-8"}),
        (b'"a@example.org', {1: "CSV"}),
        (b"x@example.org\n" * 1001, {1001: "The limit is 1,000"}),
    ],
)
def test_all_problems_of_a_file_are_reported_together(root: Desk, csv: bytes, problems: dict[int, str]):
    sent = {"data": csv, "content_type": "text/csv"}
    refused = root("POST", f"{API}/invitations/csv", expect=422, **sent).json
    assert refused["error"] == "invalid_invitations"
    assert [each["line"] for each in refused["problems"]] == list(problems)
    for each in refused["problems"]:
        assert problems[each["line"]] in each["message"]
