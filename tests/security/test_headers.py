"""Security headers of every response, including errors and files."""

from datetime import timedelta
from functools import partial
from io import BytesIO

import pytest

from grader.errors import ErrorKind, OrganizerError, OrganizerRefusal, Refusal

PATHS = {
    "/": 200,
    "/competitions/toxicity": 200,
    "/competitions/toxicity/data/sample_submission.csv": 200,
    "/competitions/toxicity/submit": 302,
    "/login": 200,
    "/static/fairboard.css": 200,
    "/static/nothing.css": 404,
    "/nothing": 404,
    "/logout": 405,
    "/livez": 200,
    "/healthz": 200,
    "/api/v1/competitions": 401,
    "/api/v1/nothing": 404,
}
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}


def test_every_response_has_the_strict_policy(arena):
    arena.competition()
    browser = arena.app.test_client()
    for path, status in PATHS.items():
        answer = browser.get(path)
        assert answer.status_code == status, path
        _check(answer)


def test_internal_error_has_the_strict_policy(arena, monkeypatch: pytest.MonkeyPatch):
    _break_the_list(monkeypatch)
    answer = arena.app.test_client().get("/")
    assert answer.status_code == 500
    _check(answer)


def test_personal_data_is_not_cached(arena):
    arena.competition()
    ann = arena.person("Ann")
    for path in ("/", "/account", "/competitions/toxicity/submissions", "/competitions/toxicity"):
        headers = ann.browser.get(path).headers
        assert headers["Cache-Control"] == "no-store"
        assert "Cookie" in headers["Vary"]
    answer = arena.app.test_client().get("/api/v1/competitions", headers=ann.bearer)
    assert answer.headers["Cache-Control"] == "no-store"


def test_static_files_named_by_content_are_cached_forever_and_others_revalidated(arena):
    browser = arena.app.test_client()
    assert "immutable" in browser.get("/static/fairboard.css?v=1").headers["Cache-Control"]
    assert browser.get("/static/fairboard.css").headers["Cache-Control"] == "no-cache"
    assert "immutable" not in browser.get("/static/nothing.css?v=1").headers["Cache-Control"]


def test_pages_contain_no_inline_script_or_style(scene):
    here = "/competitions/toxicity"
    for path in (here, f"{here}/leaderboard", f"{here}/submissions/{scene.scored_id}", f"{here}/submit"):
        text = scene.ann.browser.get(path).text
        assert "<style" not in text
        assert " style=" not in text
        assert text.count("<script") == text.count('<script type="module" src="/static/')
        assert " onclick" not in text


def test_https_makes_cookies_secure_and_binds_them_to_the_host(make_arena):
    arena = make_arena(base_url="https://fairboard.example")
    answer = arena.app.test_client().get("/login", base_url="https://fairboard.example")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-fairboard_session=")
    for flag in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
        assert flag in cookie
    assert "Domain" not in cookie
    assert answer.headers["Strict-Transport-Security"]


def test_internal_error_shows_only_an_incident(
    arena, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    _break_the_list(monkeypatch)
    ann = arena.person("Ann")
    page = ann.browser.get("/")
    data = arena.app.test_client().get("/api/v1/competitions", headers=ann.bearer)
    for answer in (page, data):
        assert answer.status_code == 500
        assert "hidden label" not in answer.text
        assert "Traceback" not in answer.text
    assert data.json.keys() == {"code", "error", "message", "incident"}
    assert data.json["incident"] in data.json["message"]
    assert data.json["incident"] in caplog.text
    assert "hidden label" in caplog.text


@pytest.mark.parametrize("error", [OrganizerError, partial(OrganizerRefusal, "unusable", ErrorKind.CONFLICT)])
def test_organizers_error_is_not_shown_to_participants(arena, monkeypatch: pytest.MonkeyPatch, error):
    _break_the_list(monkeypatch, error("Row 7 of the solution is a hidden label."))
    answer = arena.app.test_client().get("/")
    assert answer.status_code == 500
    assert "hidden label" not in answer.text


def test_refusal_is_answered_with_its_name_status_and_details(arena, monkeypatch: pytest.MonkeyPatch):
    wait = timedelta(seconds=7)
    _break_the_list(monkeypatch, Refusal("busy", ErrorKind.LIMITED, "Wait.", retry_after=wait, limit=5))
    answer = arena.app.test_client().get("/api/v1/competitions", headers=arena.person("Ann").bearer)
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "7"
    assert answer.json == {"code": 429, "error": "busy", "message": "Wait.", "limit": 5}


def test_unauthenticated_upload_is_rejected_before_it_is_read(arena):
    arena.competition()
    body = BytesIO(b"x" * 3_000_000)
    answer = arena.app.test_client().post("/api/v1/competitions/toxicity/submissions", input_stream=body)
    assert answer.status_code == 401
    assert body.tell() == 0


def _break_the_list(monkeypatch: pytest.MonkeyPatch, error: Exception | None = None):
    def broken(session: object):
        raise error or RuntimeError("a hidden label")

    monkeypatch.setattr("grader.services.competitions.lookup.list_all", broken)


def _check(answer):
    assert set(answer.headers["Content-Security-Policy"].split("; ")) == POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in answer.headers
