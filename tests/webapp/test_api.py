"""Version 1 of the JSON API."""

import re
from datetime import datetime, timedelta
from io import BytesIO

import pytest

UPLOAD = "/api/v1/competitions/toxicity/submissions"
BOARD = "/api/v1/competitions/toxicity/leaderboard"
TERMS = {"overall_auc", "subgroup_auc", "bpsn_auc", "bnsp_auc"}


@pytest.fixture
def ann(arena):
    arena.competition()
    return arena.person("Ann")


def test_an_upload_returns_before_it_is_validated(arena, ann):
    answer = _post(arena, ann, b"this is no submission")
    assert answer.status_code == 201
    assert answer.json["status"] == "pending"
    assert isinstance(answer.json["id"], int)
    assert answer.headers["Location"] == answer.json["url"] == f"/api/v1/submissions/{answer.json['id']}"


def test_a_hint_is_sent_after_the_submission_is_committed(arena, ann):
    seen: list[str] = []

    def look(job_ids):
        seen.extend(_get(arena, ann, f"/api/v1/submissions/{1}").json["status"] for _ in job_ids)

    arena.hints.send = look
    _post(arena, ann, b"id,prediction\n")
    assert seen == ["pending"]


def test_scores_are_null_until_they_are_computed(arena, ann):
    submission_id = arena.submit(ann, arena.truth.predictions(noise=1.9), description="first  try")
    before = _get(arena, ann, f"/api/v1/submissions/{submission_id}").json
    assert (before["status"], before["public_score"], before["terms"]) == ("pending", None, None)
    arena.score_all()
    after = _get(arena, ann, f"/api/v1/submissions/{submission_id}").json
    assert after["status"] == "scored"
    assert after["terms"].keys() == TERMS
    assert re.fullmatch(r"0\.\d{1,5}", repr(after["public_score"]))
    assert all(re.fullmatch(r"0\.\d{1,4}", repr(term)) for term in after["terms"].values())
    assert after["description"] == "first try"
    assert after["problems"] == []
    assert datetime.fromisoformat(after["finished_at"]) >= datetime.fromisoformat(after["submitted_at"])


def test_a_rejected_file_lists_all_its_problems(arena, ann):
    submission_id = arena.submit(ann, b"id,prediction\n7000000,nan\nx,1\n")
    arena.score_all()
    answer = _get(arena, ann, f"/api/v1/submissions/{submission_id}").json
    assert answer["status"] == "rejected"
    assert answer["public_score"] is None
    assert len(answer["problems"]) == 3
    keys = {"code", "message", "line", "lines", "count", "expected", "found"}
    assert all(problem.keys() == keys for problem in answer["problems"])


def test_the_private_leaderboard_is_available_after_the_reveal(arena, ann):
    submission_id = arena.submit(ann, arena.truth.predictions(noise=2))
    arena.score_all()
    before = _get(arena, ann, f"{BOARD}?split=private")
    assert (before.status_code, before.json["error"]) == (403, "not_revealed")
    arena.reveal()
    (row,) = _get(arena, ann, f"{BOARD}?split=private").json["rows"]
    assert row["rank_change"] == 0
    own = _get(arena, ann, f"/api/v1/submissions/{submission_id}").json
    assert own["private_score"] == row["score"] != own["public_score"]


def test_an_unknown_split_is_rejected(arena, ann):
    answer = _get(arena, ann, f"{BOARD}?split=all")
    assert (answer.status_code, answer.json["error"]) == (400, "unreadable")


def test_competitions_are_listed_with_their_phase(arena, ann):
    arena.competition("later", opens_at=arena.now() + timedelta(days=1))
    listed = _get(arena, ann, "/api/v1/competitions").json["competitions"]
    assert [(each["slug"], each["phase"]) for each in listed] == [
        ("later", "scheduled"),
        ("toxicity", "open"),
    ]
    assert listed[0].items() <= _get(arena, ann, "/api/v1/competitions/later").json.items()


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/api/v1/submissions/1", 401, "unauthorized"),
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("GET", "/api/", 404, "not_found"),
        ("DELETE", "/api/v1/submissions/1", 405, "method_not_allowed"),
    ],
)
def test_errors_of_anonymous_requests_have_the_common_shape(
    arena, method: str, path: str, status: int, error: str
):
    _has_shape(arena.app.test_client().open(path, method=method), status, error)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/api/v1/submissions/999", 404, "unknown_submission"),
        ("/api/v1/submissions/x", 404, "not_found"),
        ("/api/v1/submissions/2147483648", 404, "not_found"),
        ("/api/v1/submissions/99999999999999999999", 404, "not_found"),
        ("/api/v1/competitions/nothing", 404, "unknown_competition"),
        ("/api/v1/competitions/nothing/leaderboard", 404, "unknown_competition"),
        ("/api/v1/competitions/%00/leaderboard", 404, "not_found"),
        ("/api/v1/competitions/toxicity/check", 405, "method_not_allowed"),
    ],
)
def test_errors_of_authenticated_requests_have_the_common_shape(
    arena, ann, path: str, status: int, error: str
):
    _has_shape(_get(arena, ann, path), status, error)


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer x y", "Basic eDp5", "bearer fb_x", "x"])
def test_an_invalid_token_is_unauthorized(arena, header: str):
    answer = arena.app.test_client().get("/api/v1/competitions", headers={"Authorization": header})
    _has_shape(answer, 401, "unauthorized")


def _has_shape(answer, status: int, error: str):
    assert answer.status_code == status
    assert answer.json.keys() == {"code", "error", "message"}
    assert (answer.json["code"], answer.json["error"]) == (status, error)
    assert answer.json["message"].endswith((".", "TOKEN`."))


def _get(arena, person, path: str):
    return arena.app.test_client().get(path, headers=person.bearer)


def _post(arena, person, file: bytes, path: str = UPLOAD):
    data = {"file": (BytesIO(file), "p.csv")}
    return arena.app.test_client().post(path, data=data, headers=person.bearer)
