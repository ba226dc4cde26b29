"""Version 1 of the JSON API."""

from io import BytesIO

import pytest

API = "/api/v1"


def test_a_hint_is_sent_after_the_submission_is_committed(arena, ann):
    seen, client = list[str](), arena.app.test_client()

    def look(job_ids):
        seen.extend(client.get(f"{API}/submissions/1", headers=ann.bearer).json["status"] for _ in job_ids)

    arena.hints.send = look
    data = {"file": (BytesIO(b"id,prediction\n"), "p.csv")}
    client.post(f"{API}/competitions/toxicity/submissions", data=data, headers=ann.bearer)
    assert seen == ["pending"]


@pytest.mark.parametrize(
    ("is_known", "method", "path", "status", "error"),
    [
        (False, "GET", "/submissions/1", 401, "unauthorized"),
        (False, "GET", "/nothing", 404, "not_found"),
        (False, "DELETE", "/submissions/1", 405, "method_not_allowed"),
        (True, "GET", "/submissions/999", 404, "unknown_submission"),
        (True, "GET", "/submissions/2147483648", 404, "not_found"),
        (True, "GET", "/submissions/99999999999999999999", 404, "not_found"),
        (True, "GET", "/competitions/nothing/leaderboard", 404, "unknown_competition"),
        (True, "GET", "/competitions/%00/leaderboard", 404, "not_found"),
    ],
)
def test_errors_have_the_common_shape(arena, ann, is_known, method, path, status, error):
    headers = ann.bearer if is_known else {}
    _has_shape(arena.app.test_client().open(API + path, method=method, headers=headers), status, error)


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer x y", "Basic eDp5", "bearer fb_x", "x"])
def test_an_invalid_token_is_unauthorized(arena, header):
    answer = arena.app.test_client().get(f"{API}/competitions", headers={"Authorization": header})
    _has_shape(answer, 401, "unauthorized")


def _has_shape(answer, status, error):
    assert answer.status_code == status
    assert answer.json.keys() == {"code", "error", "message"}
    assert (answer.json["code"], answer.json["error"]) == (status, error)
    assert answer.json["message"].endswith((".", "TOKEN`."))
