"""Imprint and privacy links, and the notice that people accept at sign-up."""

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, User
from grader.services.accounts import accounts
from grader.settings import Settings
from tests.fixtures.arena import PASSWORD, Arena

NOTICE = {"notice": "# Terms\n\nBe *fair* <script>", "notice_version": "2026-10"}


def _user(arena: Arena, name: str) -> User | None:
    with arena.database.read() as session:
        return session.scalars(select(User).where(User.name == name)).one_or_none()


def _accepted(arena: Arena) -> list[str]:
    with arena.database.read() as session:
        rows = session.scalars(select(AuditEntry).where(AuditEntry.action == "notice.accept"))
        return [row.after["version"] for row in rows]


def _publish(arena: Arena, **notice: str):
    settings = arena.settings.model_copy(update=notice)
    object.__setattr__(arena.app.extensions["fairboard"], "settings", settings)


def _sign_up(arena: Arena, browser, **fields):
    token = arena.form_token(browser)
    return browser.post("/sign-up", data={"name": "Fay", "password": PASSWORD, "csrf_token": token, **fields})


def _accept(arena: Arena, browser, version: str, path: str = "/notice"):
    token = arena.form_token(browser)
    return browser.post(path, data={"notice": version, "csrf_token": token})


@pytest.mark.both_databases
def test_new_account_needs_the_acceptance_of_the_notice(make_arena):
    arena = make_arena(**NOTICE)
    browser = arena.app.test_client()
    page = browser.get("/notice").text
    assert "<em>fair</em>" in page
    assert "<h2>Terms</h2>" in page
    assert "fair</em> <script>" not in page
    assert 'name="notice"' not in page
    assert 'value="2026-10" required' in browser.get("/sign-up").text
    for sent in ({}, {"notice": ""}, {"notice": "2026-09"}):
        refused = _sign_up(arena, browser, **sent)
        assert refused.status_code == 422
        assert "Accept the notice of this site." in refused.text
        assert _user(arena, "Fay") is None
    assert _sign_up(arena, browser, notice="2026-10").status_code == 302
    fay = _user(arena, "Fay")
    assert fay and (fay.notice_version, fay.notice_accepted_at) == ("2026-10", fay.created_at)
    assert "accepted version 2026-10 of the notice" in browser.get("/account").text
    assert _accepted(arena) == ["2026-10"]


def test_new_version_is_accepted_before_other_pages(make_arena):
    arena = make_arena(**NOTICE)
    browser = arena.app.test_client()
    _sign_up(arena, browser, notice="2026-10")
    _publish(arena, notice="New", notice_version="2026-11")
    asked = browser.get("/account?tab=1")
    assert (asked.status_code, asked.location) == (302, "/notice?next=/account?tab%3D1")
    assert browser.get("/account", headers={"Accept": "application/json"}).json["error"] == (
        "notice_not_accepted"
    )
    page = browser.get(asked.location).text
    assert "The notice of this site has changed." in page
    assert _accept(arena, browser, "2026-10").status_code == 200
    assert browser.get("/").status_code == 302
    assert browser.get("/account/delete").status_code == 200
    assert _accept(arena, browser, "2026-11", asked.location).location == "/account?tab=1"
    assert browser.get("/account").status_code == 200
    assert _accepted(arena) == ["2026-10", "2026-11"]
    assert 'name="notice"' not in browser.get("/notice").text


def test_account_that_another_person_created_accepts_the_notice_first(make_arena):
    arena = make_arena()
    ann = arena.person("Ann")
    _publish(arena, **NOTICE)
    assert ann.browser.get("/account").location == "/notice?next=/account"
    assert _accept(arena, ann.browser, "2026-10").status_code == 303
    user = _user(arena, "Ann")
    with arena.database.write() as session:
        accounts.accept_notice(session, user=user, version="x", now=arena.now())
    assert ann.browser.get("/account").status_code == 302


def test_token_of_a_user_who_has_not_accepted_the_notice_can_only_read_or_be_revoked(make_arena):
    arena = make_arena()
    arena.competition()
    ann, visitor = arena.person("Ann"), arena.app.test_client()
    token_id = visitor.get("/api/v1/me", headers=ann.bearer).json["token"]["id"]
    _publish(arena, **NOTICE)
    assert visitor.get("/api/v1/me", headers=ann.bearer).status_code == 200
    about = {"headers": ann.bearer, "json": {"about": "x"}}
    refused = visitor.patch("/api/v1/me", **about)
    assert (refused.status_code, refused.json["error"]) == (403, "notice_not_accepted")
    submissions = "/api/v1/competitions/toxicity/submissions"
    refused = visitor.post(submissions, headers=ann.bearer, data=arena.truth.predictions())
    assert (refused.status_code, refused.json["error"]) == (403, "notice_not_accepted")
    kaggle = "/api/v1/competitions.CompetitionApiService/"
    file = {"competitionName": "toxicity", "fileName": "a", "contentLength": 1}
    entered = {"headers": ann.bearer, "json": file}
    assert visitor.post(f"{kaggle}ListCompetitions", headers=ann.bearer, json={}).status_code == 200
    assert visitor.post(f"{kaggle}StartSubmissionUpload", **entered).status_code == 403
    assert _accept(arena, ann.browser, "2026-10").status_code == 303
    assert visitor.patch("/api/v1/me", **about).status_code == 200
    assert visitor.post(f"{kaggle}StartSubmissionUpload", **entered).status_code == 200
    _publish(arena, notice="New", notice_version="2026-11")
    assert visitor.delete(f"/api/v1/tokens/{token_id}", headers=ann.bearer).status_code == 204


def test_visitors_need_no_notice_and_sites_without_one_have_no_page(make_arena):
    arena = make_arena()
    browser = arena.app.test_client()
    assert browser.get("/notice").status_code == 404
    assert "notice" not in browser.get("/sign-up").text
    _publish(arena, **NOTICE)
    assert browser.get("/").status_code == 200
    assert _accept(arena, browser, "2026-10").status_code == 302


def test_footer_links_to_the_imprint_and_the_privacy_policy(make_arena):
    arena = make_arena(
        imprint_url="https://uni.example/imprint", privacy_url="https://uni.example/privacy?a=1&b"
    )
    footer = arena.app.test_client().get("/nothing").text.partition("<footer")[2]
    assert '<a href="https://uni.example/privacy?a=1&amp;b">Privacy</a>' in footer
    assert '<a href="https://uni.example/imprint">Imprint</a>' in footer


@pytest.mark.parametrize(
    "wrong",
    [
        {"imprint_url": "javascript:alert(1)"},
        {"privacy_url": "uni"},
        {"notice": "x"},
        {"notice_version": "1"},
    ],
)
def test_unusable_settings_are_rejected(wrong: dict[str, str]):
    with pytest.raises(ValueError, match=r"https://|must be set together"):
        Settings(**wrong)
