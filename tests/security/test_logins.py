"""Login security: token rotation, server-side logout, redirects, rate limits."""

from collections.abc import Iterable

import pytest

from tests.fixtures.arena import without_form_tokens

PASSWORD = "correct horse battery"


def test_each_login_has_a_new_token_and_the_old_one_is_invalid(arena):
    ann = arena.person("Ann")
    first = ann.browser.get_cookie("fairboard_login").value
    token = arena.form_token(ann.browser, "/account")
    ann.browser.post("/login", data={"csrf_token": token, "name": "Ann", "password": PASSWORD})
    assert ann.browser.get_cookie("fairboard_login").value != first
    assert _status_with(arena, first) == 302


def test_cookie_from_before_the_login_is_invalid_after_it(arena):
    arena.person("Ann")
    browser = arena.app.test_client()
    browser.set_cookie("fairboard_login", "planted")
    arena.log_in(browser, "Ann")
    assert browser.get_cookie("fairboard_login").value != "planted"
    assert _status_with(arena, "planted") == 302


def test_csrf_token_from_before_the_login_is_invalid_after_it(arena):
    arena.person("Ann")
    browser = arena.app.test_client()
    token = arena.form_token(browser)
    browser.post("/login", data={"csrf_token": token, "name": "Ann", "password": PASSWORD})
    assert browser.post("/tokens", data={"csrf_token": token}).status_code == 403


def test_logging_out_ends_the_login_on_the_server(arena):
    ann = arena.person("Ann")
    token = ann.browser.get_cookie("fairboard_login").value
    ann.post("/logout")
    assert ann.browser.get_cookie("fairboard_login") is None
    assert _status_with(arena, token) == 302


def test_logging_out_everywhere_also_ends_logins_in_other_browsers(arena):
    ann = arena.person("Ann")
    other = arena.app.test_client()
    arena.log_in(other, "Ann")
    assert other.get("/account").status_code == 200
    ann.post("/account/logins/end")
    assert other.get("/account").status_code == 302


def test_changing_the_password_ends_all_other_logins_and_keeps_this_browser(arena):
    ann = arena.person("Ann")
    other = arena.app.test_client()
    arena.log_in(other, "Ann")
    wrong = ann.post("/account/password", {"current_password": "guess", "new_password": "another good one"})
    assert (wrong.status_code, "Wrong password." in wrong.text) == (422, True)
    weak = ann.post("/account/password", {"current_password": PASSWORD, "new_password": "short"})
    assert (weak.status_code, "Use at least 8." in weak.text) == (422, True)
    assert other.get("/account").status_code == 200
    ann.post("/account/password", {"current_password": PASSWORD, "new_password": "another good one"})
    assert "Password changed." in ann.browser.get("/account").text
    assert other.get("/account").status_code == 302
    assert arena.log_in(other, "Ann", PASSWORD).status_code == 422
    assert arena.log_in(other, "Ann", "another good one").status_code == 302


def test_login_cookie_is_not_accessible_to_scripts_and_other_sites(arena):
    arena.person("Ann")
    browser = arena.app.test_client()
    cookies = arena.log_in(browser, "Ann").headers.getlist("Set-Cookie")
    login = next(cookie for cookie in cookies if cookie.startswith("fairboard_login="))
    assert "HttpOnly" in login
    assert "SameSite=Lax" in login
    assert "Path=/" in login


def test_unknown_name_and_wrong_password_return_the_same_response(arena):
    arena.person("Ann")
    browser = arena.app.test_client()
    answers = [arena.log_in(browser, name, "not the password") for name in ("Ann", "Bob")]
    assert answers[0].status_code == answers[1].status_code == 422
    texts = [without_form_tokens(answer.text) for answer in answers]
    assert texts[0].replace('value="Ann"', 'value="Bob"') == texts[1]


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        "//evil.example",
        "////evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/%09/evil.example",
        "/%5Cevil.example",
        "/%2F/evil.example",
        "https:evil.example",
        "javascript:alert(1)",
        "/account\r\nSet-Cookie: a=b",
        "/account%0d%0aSet-Cookie:a=b",
        "/nothing-here",
        "/logout",
        "account",
        " /account",
    ],
)
def test_login_never_redirects_to_another_site(arena, target: str):
    arena.person("Ann")
    answer = arena.log_in(arena.app.test_client(), "Ann", next=target)
    assert answer.headers["Location"] == "/"
    assert "a=b" not in str(answer.headers)


def test_login_redirects_to_the_page_that_required_it(arena):
    arena.competition()
    arena.person("Ann")
    browser = arena.app.test_client()
    asked = browser.get("/competitions/toxicity/submissions?page=2").headers["Location"]
    token = arena.form_token(browser, asked)
    form = {"csrf_token": token, "name": "Ann", "password": PASSWORD}
    assert browser.post(asked, data=form).headers["Location"] == "/competitions/toxicity/submissions?page=2"


def test_upload_with_an_ended_login_redirects_to_the_login_page(arena):
    arena.competition()
    path = "/competitions/toxicity/submit"
    assert arena.app.test_client().post(path, data={"x": "y"}).headers["Location"].startswith("/login")
    answer = arena.app.test_client().post(path, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json["error"]) == (401, "login_needed")


def test_setup_link_creates_one_administrator_and_is_then_invalid(arena):
    from grader.services.identity import administrators

    with arena.database.write() as session:
        link = administrators.create_setup_link(session, now=arena.now())
    browser = arena.app.test_client()
    form = {
        "csrf_token": arena.form_token(browser, f"/setup/{link}"),
        "name": "Root",
        "password": PASSWORD,
    }
    assert browser.post(f"/setup/{link}", data=form).status_code == 302
    assert "Administrator" in browser.get("/account").text
    assert browser.get(f"/setup/{link}").status_code == 404


def test_sign_up_can_be_closed(make_arena):
    browser = make_arena(sign_up="closed").app.test_client()
    assert browser.get("/sign-up").status_code == 404
    assert "/sign-up" not in browser.get("/login").text


def test_password_guesses_are_rate_limited(make_arena):
    arena = make_arena(rate_limits=True)
    browser = arena.app.test_client()
    statuses = [arena.log_in(browser, "Ann", "guess").status_code for _ in range(22)]
    assert statuses == [422] * 20 + [429] * 2
    answer = arena.log_in(browser, "Ann", "guess")
    assert "20 wrong passwords were entered" in answer.text
    assert 0 < int(answer.headers["Retry-After"]) <= 60


def guesses_from(arena, addresses: Iterable[str]) -> list[int]:
    """Return the statuses of login attempts with other names and these forwarded addresses."""
    browser = arena.app.test_client()
    token = arena.form_token(browser)
    return [
        browser.post(
            "/login",
            data={"csrf_token": token, "name": f"n{place}", "password": "guess"},
            headers={"X-Forwarded-For": address, "Forwarded": f"for=10.0.1.{place}"},
        ).status_code
        for place, address in enumerate(addresses)
    ]


@pytest.mark.parametrize(
    ("trusted_proxies", "forged"),
    [
        (0, "10.0.0.{}"),
        *((1, forged) for forged in ("10.0.0.1:{}", '"[2001:db8::{}]:1"', "2001:db8::{}%eth0", "{}")),
        *((1, forged) for forged in ('"{}, 10.0.0.1', "unknown:{}")),
    ],
)
def test_forged_forwarded_address_does_not_evade_the_limit(make_arena, trusted_proxies: int, forged: str):
    arena = make_arena(rate_limits=True, trusted_proxies=trusted_proxies)
    assert guesses_from(arena, (forged.format(place) for place in range(1, 22)))[-1] == 429


def test_each_address_behind_a_trusted_proxy_has_its_own_limit(make_arena):
    arena = make_arena(rate_limits=True, trusted_proxies=1)
    statuses = guesses_from(arena, (f"spoofed, 10.0.0.{place}" for place in range(21)))
    assert statuses == [422] * 21


def test_users_can_log_in_without_a_broker(make_arena):
    arena = make_arena(rate_limits=True, broker_url="redis://127.0.0.1:1/0")
    assert arena.person("Ann").browser.get("/account").status_code == 200


def _status_with(arena, token: str) -> int:
    browser = arena.app.test_client()
    browser.set_cookie("fairboard_login", token)
    return browser.get("/account").status_code


def test_menu_can_only_log_out_from_a_page_of_this_site(arena):
    ann = arena.person("Ann")
    for site in ("cross-site", "same-site", None):
        headers = {"Sec-Fetch-Site": site} if site else {}
        assert ann.browser.post("/logout", headers=headers).status_code in (400, 403)
        assert ann.browser.get("/account").status_code == 200
    assert ann.browser.post("/logout", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 302
    assert ann.browser.get("/account").status_code == 302
