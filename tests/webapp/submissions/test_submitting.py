"""Submitting through the page and the API: limits, checks, identical files, selection."""

import re
from datetime import timedelta
from io import BytesIO

import pytest
from sqlalchemy import update

from grader.models import ScoringJob, Submission
from grader.services.competitions import lookup
from grader.worker import checking
from tests.fixtures.arena import main_text

HERE = "/competitions/toxicity"
API = "/api/v1/competitions/toxicity"
BROKEN = b"id,prediction\n7000000,nan\nx,1\n"


@pytest.fixture
def make_ann(arena):
    def make(**conditions):
        arena.competition(**conditions)
        return arena.person("Ann")

    return make


def send(arena, person, file, headers=None, **fields):
    """Send a file through the API."""
    data = {"file": (BytesIO(file), "p.csv"), **fields}
    return arena.app.test_client().post(
        f"{API}/submissions", data=data, headers=person.bearer | (headers or {})
    )


def post(person, file, *, as_json=False, **fields):
    """Send a file through the page."""
    headers = {"Accept": "application/json"} if as_json else {}
    return person.post(f"{HERE}/submit", {"file": (BytesIO(file), "p.csv"), **fields}, headers=headers)


def test_the_daily_limit_error_states_its_reset(arena, make_ann):
    ann = make_ann(max_daily_submissions=1)
    first = send(arena, ann, b"1")
    assert first.json["limits"]["left_today"] == 0
    refused = send(arena, ann, b"2")
    assert refused.status_code == 429
    assert refused.json["error"] == "daily_limit_reached"
    assert refused.json["limit"] == 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT00:00:00Z", refused.json["resets_at"])
    assert 1 <= int(refused.headers["Retry-After"]) <= 24 * 3600
    page = post(ann, b"2")
    assert page.status_code == 429
    assert "The limit resets at 00:00 UTC" in main_text(page)
    assert '<input id="file"' not in page.text
    assert page.headers["Retry-After"]


def test_one_button_checks_and_submits_a_valid_file(arena, make_ann):
    ann = make_ann(max_daily_submissions=5)
    answer = post(ann, arena.truth.predictions(), description="one")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"{HERE}/submissions/1")
    text = main_text(ann.browser.get(f"{HERE}/submissions"))
    assert re.search(r"Left today 4 of 5 Limit resets in \d.* resets at 00:00 UTC", text)


def test_a_busy_checker_is_reported(arena, make_ann, monkeypatch):
    ann = make_ann()
    monkeypatch.setattr(checking, "check", lambda *_, **__: None)
    busy = arena.app.test_client().post(
        f"{API}/check", data={"file": (BytesIO(BROKEN), "p.csv")}, headers=ann.bearer
    )
    assert (busy.status_code, busy.json["error"]) == (503, "busy")
    assert busy.headers["Retry-After"] == "5"


def test_the_check_uses_no_submission_reports_everything_and_reads_no_label(arena, make_ann, monkeypatch):
    ann, opened, original = make_ann(max_daily_submissions=1), [], arena.storage.open
    monkeypatch.setattr(arena.storage, "open", lambda sha256: opened.append(sha256) or original(sha256))

    def check(file: bytes):
        data = {"file": (BytesIO(file), "p.csv")}
        return arena.app.test_client().post(f"{API}/check", data=data, headers=ann.bearer).json

    told, clean = check(BROKEN), check(arena.truth.predictions(noise=3))
    assert (told["is_clean"], len(told["problems"]), told["limits"]["left_today"]) == (False, 3, 1)
    assert (clean["is_clean"], clean["problems"]) == (True, [])
    assert clean["notes"][0]["code"] == "outside_unit_interval"
    with arena.database.read() as session:
        solution = lookup.live(lookup.get(session, slug="toxicity")).solution
    assert set(opened) == {solution.row_ids_sha256}


def test_an_identical_file_is_reported_and_can_be_submitted_anyway(arena, make_ann):
    ann, file = make_ann(), arena.truth.predictions()
    assert post(ann, file).status_code == 303
    told = post(ann, file, description="second thoughts")
    assert told.status_code == 409
    assert re.search(
        r"identical to submission #1 from \d+ \w{3} \d{4}, \d\d:\d\d UTC\. It does not count",
        main_text(told),
    )
    assert "Submit anyway" in told.text
    again = ann.post(f"{HERE}/submissions/1/again", {"description": "second thoughts"})
    assert (again.status_code, again.headers["Location"]) == (303, f"{HERE}/submissions/2")
    assert 'value="second thoughts"' in ann.browser.get(again.headers["Location"]).text
    arena.score_all()
    program = send(arena, ann, file)
    assert (program.status_code, program.json["error"]) == (409, "identical_file")
    assert program.json["submission"] == 2
    assert send(arena, ann, file, again="true").status_code == 201


def test_a_failed_metric_shows_its_output_only_to_organizers(arena, make_ann):
    ann = make_ann()
    send(arena, ann, b"1")
    problem = {"code": "metric_failed", "message": "The metric raises an error."}
    with arena.database.write() as session:
        session.execute(update(Submission).values(status="failed", problems=[problem]))
        session.execute(update(ScoringJob).values(problems=[{**problem, "log": "label 17"}]))
    path = f"{HERE}/submissions/1"
    text = main_text(ann.browser.get(path))
    assert "Failed: The metric raises an error. The submission counts." in text and "label 17" not in text
    assert "label 17" in main_text(arena.person("Olga", is_admin=True).browser.get(path))


def test_a_downloaded_file_is_identical_to_the_upload(arena, make_ann):
    ann, bob = make_ann(), arena.person("Bob")
    content = b"\xef\xbb\xbfid,prediction\r\n<script>\x00\xff"
    data = {"file": (BytesIO(content), "ä€.csv")}
    assert arena.app.test_client().post(f"{API}/submissions", data=data, headers=ann.bearer).json["id"] == 1
    for answer in (
        ann.browser.get(f"{HERE}/submissions/1/file"),
        arena.app.test_client().get("/api/v1/submissions/1/file", headers=ann.bearer),
    ):
        assert answer.data == content
        assert answer.mimetype == "application/octet-stream"
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=")
        assert "filename*=UTF-8''%C3%A4%E2%82%AC.csv" in answer.headers["Content-Disposition"]
    assert bob.browser.get(f"{HERE}/submissions/1/file").status_code == 404
    assert arena.app.test_client().get("/api/v1/submissions/1/file", headers=bob.bearer).status_code == 404


def test_the_list_shows_which_submissions_would_count_and_why(arena, make_ann):
    ann = make_ann()
    for place, noise in enumerate((9, 1.5, 4)):
        arena.submit(ann, arena.truth.predictions(noise=noise, seed=place))
    arena.score_all()
    text = main_text(ann.browser.get(f"{HERE}/submissions"))
    assert _finals(text) == [("2", "chosen automatically"), ("3", "chosen automatically")]
    answer = ann.post(f"{HERE}/submissions/1/select", {"selected": "yes"})
    assert answer.headers["Location"] == f"{HERE}/submissions"
    again = ann.post(f"{HERE}/submissions/1/select", {"selected": "yes", "from": "submission"})
    assert again.headers["Location"] == f"{HERE}/submissions/1"
    text = main_text(ann.browser.get(f"{HERE}/submissions"))
    assert _finals(text) == [("1", "you selected it"), ("2", "chosen automatically")]
    assert "#1 is selected." in text


def _finals(text):
    """Return the files in the final selection with the reasons."""
    places = text.partition(" Final selection ")[2].partition(" Your scores ")[0]
    return re.findall(r"#(\d+) \S+ 0\.\d{5} (you selected it|chosen automatically)", places)


def test_the_api_lists_and_selects_submissions(arena, make_ann):
    ann, api = make_ann(max_daily_submissions=5), arena.app.test_client()
    for place in range(3):
        arena.submit(ann, arena.truth.predictions(noise=2, seed=place))
    for submission_id, status in ((1, 200), (2, 200), (3, 409)):
        answer = api.post(f"/api/v1/submissions/{submission_id}/select", headers=ann.bearer)
        assert answer.status_code == status
    assert (answer.json["error"], answer.json["selected"]) == ("too_many_selected", [1, 2])
    taken_back = api.post("/api/v1/submissions/1/select", json={"selected": False}, headers=ann.bearer)
    assert taken_back.json["is_selected"] is False
    arena.score_all()
    listed = api.get(f"{API}/submissions", headers=ann.bearer).json
    assert [each["id"] for each in listed["submissions"]] == [3, 2, 1]
    assert [each["is_selected"] for each in listed["submissions"]] == [False, True, False]
    assert listed["selection"]["selected"] == [2]
    assert listed["limits"]["left_today"] == 2
    assert listed["next"] is None


def test_a_rejected_file_with_deleted_bytes_is_reported_everywhere(arena, make_ann):
    ann, client = make_ann(), arena.app.test_client()
    number = send(arena, ann, BROKEN).json["id"]
    arena.score_all()
    page, file = f"{HERE}/submissions/{number}", f"{HERE}/submissions/{number}/file"
    rejected = main_text(ann.browser.get(page))
    assert "3 problems. No submission was used." in rejected and "kept for at most one day" in rejected
    assert ann.browser.get(file).status_code == 200
    with arena.database.write() as session:
        rejection = session.get_one(Submission, number)
        rejection.file_deleted_at = rejection.finished_at + timedelta(days=1)
    shown = ann.browser.get(page)
    assert "was deleted" in main_text(shown) and "NaN" in shown.text and f'href="{file}"' not in shown.text
    api = f"/api/v1/submissions/{number}"
    answer = client.get(api, headers=ann.bearer).json
    assert answer["file_deleted_at"] and answer["problems"]
    for answer in (client.get(f"{api}/file", headers=ann.bearer), ann.browser.get(file)):
        assert answer.status_code == 410
    assert ann.post(f"{HERE}/submissions/{number}/again", {}).status_code == 410


def test_a_check_before_the_submission_uses_no_submission(arena, make_ann):
    ann, file = make_ann(max_daily_submissions=5), arena.truth.predictions()
    bad = post(ann, BROKEN, as_json=True, check="only").json
    assert not bad["is_clean"] and "3 problems. No submission was used. 5 subm" in main_text(bad["html"])
    clean = post(ann, file, as_json=True, check="only").json
    assert clean["is_clean"] and "valid predictions for all 400 ids" in main_text(clean["html"])
    bob = arena.person("Bob")
    unknown = bob.post(f"{HERE}/submit", {"upload": clean["upload"]}, headers={"Accept": "application/json"})
    assert (unknown.status_code, unknown.json["error"]) == (404, "unknown_upload")
    for _ in range(2):  # A repeated request submits the checked file only once.
        sent = ann.post(f"{HERE}/submit", {"upload": clean["upload"], "description": "one"})
        assert sent.headers["Location"] == f"{HERE}/submissions/1"
    assert ann.browser.get(f"{HERE}/submissions/1/file").data == file
    again = post(ann, file, as_json=True, check="only").json
    assert not again["is_clean"] and "Submit anyway" in again["html"]
    assert "4 of 5" in ann.browser.get(f"{HERE}/submissions").text


def test_a_countdown_replaces_the_form_when_no_submission_is_left(arena, make_ann):
    ann = make_ann(max_daily_submissions=1, max_total_submissions=1)
    post(ann, arena.truth.predictions())
    page = ann.browser.get(f"{HERE}/submissions").text
    assert "limit of 1 submission in this competition" in page and "data-upload" not in page
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").max_total_submissions = 2
    page = ann.browser.get(f"{HERE}/submissions").text
    assert re.search(r'<p class="until"><time datetime="[^"]+T00:00:00\+00:00" data-form="left"', page)
    refused = post(ann, arena.truth.predictions(seed=5), as_json=True, check="only")
    assert (refused.status_code, refused.json["error"]) == (429, "daily_limit_reached")
