"""Organizers' API: lists, and actions on submissions, teams and announcements."""

from tests.fixtures.desk import API

HERE = f"{API}/competitions/toxicity"
DESK = f"{HERE}/organize"


def test_announcements_are_posted(olga):
    posted = olga("POST", f"{DESK}/announcements", json={"title": "New", "body": "Text"}, expect=201).json
    assert posted["edited_at"] is None
    edited = olga("PATCH", f"{DESK}/announcements/{posted['id']}", json={"title": "Newer"}).json
    assert (edited["title"], edited["body"], edited["edited_at"] is None) == ("Newer", "Text", False)
    same = olga("PATCH", f"{DESK}/announcements/{posted['id']}", json={"title": "Newer"}).json
    assert same == edited
    olga("PATCH", f"{DESK}/announcements/{posted['id']}", json={"body": ""}, expect=409)
    entries = olga("GET", f"{DESK}/audit?action=announcement.edit").json["entries"]
    assert [(each["before"]["title"], each["after"]["title"]) for each in entries] == [("New", "Newer")]
    olga("DELETE", f"{DESK}/announcements/{posted['id']}", expect=204)
    olga("PATCH", f"{DESK}/announcements/{posted['id']}", json={"title": "Late"}, expect=404)
    assert olga("GET", f"{DESK}/announcements").json["announcements"][0]["withdrawn_at"]
