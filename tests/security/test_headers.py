"""Security headers of every response, including errors and files."""

from datetime import timedelta
from functools import partial

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


def break_the_list(monkeypatch, error):
    """Let every request for the list of competitions raise an error."""

    def broken(_session: object):
        raise error

    monkeypatch.setattr("grader.services.competitions.lookup.list_all", broken)


def check(answer, status):
    assert answer.status_code == status, answer.request.path
    assert set(answer.headers["Content-Security-Policy"].split("; ")) == POLICY
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_every_response_has_the_strict_policy(arena, monkeypatch):
    arena.competition()
    browser = arena.app.test_client()
    for path, status in PATHS.items():
        check(browser.get(path), status)
    break_the_list(monkeypatch, RuntimeError())
    check(browser.get("/"), 500)


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
        assert not any(each in text for each in ("<style", " style=", " onclick"))
        assert text.count("<script") == text.count('<script type="module" src="/static/')


def test_https_makes_cookies_secure_and_binds_them_to_the_host(make_arena):
    arena = make_arena(base_url="https://fairboard.example")
    answer = arena.app.test_client().get("/login", base_url="https://fairboard.example")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("__Host-fairboard_session=") and "Domain" not in cookie
    assert all(flag in cookie for flag in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/"))
    assert answer.headers["Strict-Transport-Security"]


@pytest.mark.parametrize(
    "error", [RuntimeError, OrganizerError, partial(OrganizerRefusal, "unusable", ErrorKind.CONFLICT)]
)
def test_internal_and_organizers_errors_show_only_an_incident(arena, monkeypatch, caplog, error):
    ann = arena.person("Ann")
    break_the_list(monkeypatch, error("Row 7 has a hidden label."))
    page = ann.browser.get("/")
    data = arena.app.test_client().get("/api/v1/competitions", headers=ann.bearer)
    for answer in (page, data):
        assert answer.status_code == 500
        assert "hidden label" not in answer.text and "Traceback" not in answer.text
    assert data.json.keys() == {"code", "error", "message", "incident"}
    assert data.json["incident"] in data.json["message"]
    assert data.json["incident"] in caplog.text and "hidden label" in caplog.text


def test_refusal_is_answered_with_its_name_status_and_details(arena, monkeypatch):
    ann, wait = arena.person("Ann"), timedelta(seconds=7)
    break_the_list(monkeypatch, Refusal("busy", ErrorKind.LIMITED, "Wait.", retry_after=wait, limit=5))
    answer = arena.app.test_client().get("/api/v1/competitions", headers=ann.bearer)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "7")
    assert answer.json == {"code": 429, "error": "busy", "message": "Wait.", "limit": 5}
