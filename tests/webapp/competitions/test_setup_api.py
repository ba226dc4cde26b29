"""Setup API: settings, solution, data files, publication."""

import io

import pytest

from tests.fixtures.desk import API, Desk

DESK = f"{API}/competitions/next/organize"


@pytest.fixture
def olga(arena) -> Desk:
    """Olga, an administrator with a draft."""
    desk = Desk(arena.person("Olga", is_admin=True))
    made = desk("POST", f"{API}/competitions", json={"slug": "next", "title": "Next"}, expect=201)
    assert made.headers["Location"] == made.json["url"] == f"{DESK}/settings"
    return desk


def test_a_draft_with_settings_a_solution_and_data_is_published(olga: Desk):
    changed = olga("PATCH", f"{DESK}/settings", json={"contact": "x@example.org", "overview": "Hello."})
    assert changed.json["changed"] == ["contact", "overview"]
    assert changed.json["settings"]["title"] == "Next"
    state = olga("GET", f"{DESK}/state").json
    assert [each["fields"] for each in state["missing"]] == [["solution"]]
    assert state["saved_sections"] == ["text"]
    csv = olga.arena.truth.solution()
    begun = olga("POST", f"{DESK}/solution", data=csv, content_type="text/csv", expect=202)
    assert not olga("GET", begun.json["url"]).json["job"]["is_final"]
    olga.work()
    found = olga("GET", begun.json["url"]).json
    assert found["why_not"] is None, found
    assert found["columns"][0]["role"] == "id"
    accepted = olga("POST", f"{begun.json['url']}/accept").json
    assert accepted["solution"]["row_count"] == len(olga.arena.truth.rows)
    data = {"file": (io.BytesIO(b"id,text\n1,hello\n"), "train.csv"), "description": "Comments"}
    assert olga("POST", f"{DESK}/data", data=data, expect=201).json["name"] == "train.csv"
    refused = olga("POST", f"{DESK}/state/publish", expect=409)
    assert refused.json["error"] == "not_ready"
    assert [each["fields"] for each in refused.json["problems"]] == [["data"]]
    olga.work()
    listed = olga("GET", f"{DESK}/data").json
    assert listed["is_final"]
    assert [(each["name"], each["state"]) for each in listed["files"]] == [("train.csv", "passed")]
    assert olga("POST", f"{DESK}/state/publish").json["state"] == "published"
    assert olga("GET", f"{DESK}/data").json["benchmarks"][0]["name"]
    fixed = olga("GET", f"{DESK}/settings").json["locked"]
    assert "rescoring" in fixed["metric"]


def test_returned_settings_can_be_sent_back_unchanged(olga: Desk):
    metric = {"power": "-inf", "weights": {"overall_auc": 1, "subgroup_auc": 0, "bpsn_auc": 0, "bnsp_auc": 0}}
    sent = {"metric": metric, "closes_at": "2031-01-31T12:00:00+02:00"} | {"opens_at": "2030-01-01T00:00:00Z"}
    olga("PATCH", f"{DESK}/settings", json=sent)
    found = olga("GET", f"{DESK}/settings").json
    assert found["settings"]["closes_at"] == "2031-01-31T10:00:00Z"
    assert found["settings"]["metric"]["power"] == "-inf"
    assert found["dates"]["merger_deadline"] == "2031-01-24T10:00:00Z"
    assert olga("PUT", f"{DESK}/settings", json=found["settings"]).json["changed"] == []
    assert 'slug = "next"' in olga("GET", f"{DESK}/settings.toml").text


def test_settings_changed_by_another_user_are_not_overwritten(olga: Desk):
    path, client = f"{DESK}/settings", olga.arena.app.test_client()

    def send(method: str, etag: str, **fields):
        headers = {**olga.person.bearer, "If-Match": etag}
        return client.open(path, method=method, json=fields, headers=headers)

    read = olga("GET", path)
    etag = read.headers["ETag"]
    known = client.get(path, headers={**olga.person.bearer, "If-None-Match": etag})
    assert (known.status_code, read.json["version"] in etag) == (304, True)
    changed = send("PATCH", etag, contact="a@example.org")
    assert (changed.status_code, changed.json["changed"]) == (200, ["contact"])
    for method in ("PATCH", "PUT"):
        late = send(method, etag, title="Late", contact="b@example.org")
        assert (late.status_code, late.json["error"]) == (412, "settings_changed")
    assert olga("GET", path).json["settings"]["contact"] == "a@example.org"
    assert send("PATCH", changed.headers["ETag"], title="In time").status_code == 200
    assert send("PATCH", "*", title="Any").status_code == 200
    assert send("PATCH", '"guessed", W/"weak"', title="Guessed").status_code == 412
