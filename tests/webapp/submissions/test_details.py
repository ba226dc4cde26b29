"""Links and notes in forms, pages, the API and CSV files."""

import csv
import io
import json

import pytest

HERE = "/competitions/toxicity"
FIELDS = "Code: link, required\nData: text\nSize: number"
CODE = "https://example.org/?a=1&b=2"
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def ann(arena):
    arena.competition(entry_fields=FIELDS)
    return arena.person("Ann")


def upload(arena, ann, **details) -> int:
    number = arena.submit(ann, arena.truth.predictions(), details=json.dumps(details))
    arena.score_all()
    return number


def test_values_of_an_upload_are_shown_everywhere_escaped_and_with_safe_links(arena, ann):
    own = upload(arena, ann, Code=CODE, Data=HOSTILE, Size=7e9)
    for path in (
        f"{HERE}/leaderboard",
        f"{HERE}/submissions/{own}",
        f"{HERE}/submissions",
        f"{HERE}/submissions/compare",
    ):
        page = ann.browser.get(path).text
        link = '<a href="https://example.org/?a=1&amp;b=2" rel="nofollow ugc noopener"><bdi>Code</bdi></a>'
        assert link in page, path
        assert "<script>alert(1)" not in page, path
        assert "7,000,000,000" in page, path
    shown = {"Code": CODE, "Data": HOSTILE, "Size": 7_000_000_000}
    for path in ("submissions/1", "competitions/toxicity/submissions", "competitions/toxicity/leaderboard"):
        answer = ann.browser.get(f"/api/v1/{path}", headers=ann.bearer).json
        assert (answer.get("submissions") or answer.get("rows") or [answer])[0]["details"] == shown
    row = next(csv.DictReader(io.StringIO(ann.browser.get(f"{HERE}/leaderboard.csv").text)))
    assert (row["detail: Code"], row["detail: Size"]) == (CODE, "7000000000")


def test_the_page_edits_values_and_a_refused_selection_leads_to_the_form(arena, ann):
    own = upload(arena, ann)
    page = f"{HERE}/submissions/{own}"
    refused = ann.post(f"{page}/selection", {"selected": "yes"})
    assert refused.location == f"{page}#details"
    assert "needs these links and notes to be selected: Code." in ann.browser.get(page).text
    assert f'href="{page}#details"' in ann.browser.get(f"{HERE}/submissions").text
    ann.post(f"{page}/description", {"detail:Code": CODE, "detail:Data": "", "detail:Size": ""})
    assert ann.post(f"{page}/selection", {"selected": "yes"}).location == f"{HERE}/submissions"
    refused = ann.post(f"{page}/description", {"detail:Code": "javascript:alert(1)", "detail:Size": "big"})
    assert refused.status_code == 400
    for text in ("Code: Enter a public link", "Size: Enter a number", 'value="javascript:alert(1)"'):
        assert text in refused.text, text


def test_the_api_names_missing_fields_and_changes_values(arena, ann):
    own = upload(arena, ann)
    place = f"/api/v1/submissions/{own}"
    refused = ann.browser.post(f"{place}/select", json={}, headers=ann.bearer)
    assert (refused.status_code, refused.json["error"]) == (409, "details_missing")
    changed = ann.browser.patch(place, json={"details": {"Code": CODE, "Size": 3}}, headers=ann.bearer)
    assert changed.json["details"] == {"Code": CODE, "Size": 3}
    assert ann.browser.post(f"{place}/select", json={}, headers=ann.bearer).status_code == 200


@pytest.mark.parametrize("details", ["[]", "{", '{"Code": true}', '{"Code": null}'])
def test_an_upload_with_unreadable_values_is_refused(arena, ann, details):
    data = {"file": (io.BytesIO(arena.truth.predictions()), "p.csv"), "details": details}
    answer = ann.browser.post("/api/v1/competitions/toxicity/submissions", data=data, headers=ann.bearer)
    assert (answer.status_code, answer.json["error"]) == (400, "unreadable")


def test_an_invalid_value_in_the_upload_form_is_named_and_kept(arena, ann):
    data = {"file": (io.BytesIO(arena.truth.predictions()), "p.csv"), "detail:Code": "ftp://example.org"}
    answer = ann.post(f"{HERE}/submit", data)
    assert answer.status_code == 400
    assert "Code: Enter a public link" in answer.text
    assert 'value="ftp://example.org"' in answer.text


def test_a_blind_leaderboard_shows_no_values_of_others(arena):
    arena.competition(entry_fields=FIELDS, feedback="blind")
    ann, bob = arena.person("Ann"), arena.person("Bob")
    upload(arena, ann, Code=CODE)
    for path in (
        f"{HERE}/leaderboard",
        f"{HERE}/leaderboard.csv",
        "/api/v1/competitions/toxicity/leaderboard",
    ):
        assert "example.org/?a" not in bob.browser.get(path).text
