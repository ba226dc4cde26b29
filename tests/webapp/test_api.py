"""Version 1 of the JSON API."""

from io import BytesIO

import pytest

UPLOAD = "/api/v1/competitions/toxicity/submissions"


@pytest.fixture
def ann(arena):
    arena.competition()
    return arena.person("Ann")


def test_a_hint_is_sent_after_the_submission_is_committed(arena, ann):
    seen: list[str] = []

    def look(job_ids):
        seen.extend(_get(arena, ann, f"/api/v1/submissions/{1}").json["status"] for _ in job_ids)

    arena.hints.send = look
    _post(arena, ann, b"id,prediction\n")
    assert seen == ["pending"]


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/api/v1/submissions/1", 401, "unauthorized"),
        ("GET", "/api/v1/nothing", 404, "not_found"),
        ("DELETE", "/api/v1/submissions/1", 405, "method_not_allowed"),
    ],
)
def test_errors_of_anonymous_requests_have_the_common_shape(arena, method, path, status, error):
    _has_shape(arena.app.test_client().open(path, method=method), status, error)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/api/v1/submissions/999", 404, "unknown_submission"),
        ("/api/v1/submissions/2147483648", 404, "not_found"),
        ("/api/v1/submissions/99999999999999999999", 404, "not_found"),
        ("/api/v1/competitions/nothing/leaderboard", 404, "unknown_competition"),
        ("/api/v1/competitions/%00/leaderboard", 404, "not_found"),
        ("/api/v1/competitions/toxicity/check", 405, "method_not_allowed"),
    ],
)
def test_errors_of_authenticated_requests_have_the_common_shape(arena, ann, path, status, error):
    _has_shape(_get(arena, ann, path), status, error)


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer x y", "Basic eDp5", "bearer fb_x", "x"])
def test_an_invalid_token_is_unauthorized(arena, header):
    answer = arena.app.test_client().get("/api/v1/competitions", headers={"Authorization": header})
    _has_shape(answer, 401, "unauthorized")


def _has_shape(answer, status, error):
    assert answer.status_code == status
    assert answer.json.keys() == {"code", "error", "message"}
    assert (answer.json["code"], answer.json["error"]) == (status, error)
    assert answer.json["message"].endswith((".", "TOKEN`."))


def _get(arena, person, path):
    return arena.app.test_client().get(path, headers=person.bearer)


def _post(arena, person, file, path=UPLOAD):
    data = {"file": (BytesIO(file), "p.csv")}
    return arena.app.test_client().post(path, data=data, headers=person.bearer)
