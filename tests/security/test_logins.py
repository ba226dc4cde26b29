"""Login security: token rotation, server-side logout, redirects, rate limits."""

import pytest

from tests.fixtures.arena import PASSWORD, without_form_tokens


def login_of(browser):
    return str(browser.get_cookie("fairboard_login").value)


def status_with(arena, token):
    """Return the status of the account page with a session token."""
    browser = arena.app.test_client()
    browser.set_cookie("fairboard_login", token)
    return int(browser.get("/account").status_code)


def test_each_login_has_a_new_token_and_the_old_ones_are_invalid(arena):
    ann = arena.person("Ann")
    browser = arena.app.test_client()
    browser.set_cookie("fairboard_login", "planted")
    tokens = ["planted", login_of(ann.browser)]
    old = arena.form_token(browser)
    headers = arena.log_in(browser, "Ann").headers.getlist("Set-Cookie")
    (cookie,) = (each for each in headers if each.startswith("fairboard_login="))
    assert all(flag in cookie for flag in ("HttpOnly", "SameSite=Lax", "Path=/"))
    assert browser.post("/tokens", data={"csrf_token": old}).status_code == 403
    arena.log_in(ann.browser, "Ann")
    assert len({*tokens, login_of(browser), login_of(ann.browser)}) == 4
    assert [status_with(arena, each) for each in tokens] == [302, 302]


def test_logging_out_ends_the_login_on_the_server(arena):
    ann, other = arena.person("Ann"), arena.app.test_client()
    arena.log_in(other, "Ann")
    token = login_of(ann.browser)
    ann.post("/logout")
    assert (ann.browser.get_cookie("fairboard_login"), status_with(arena, token)) == (None, 302)
    assert other.get("/account").status_code == 200
    arena.log_in(ann.browser, "Ann")
    ann.post("/account/logins/end")
    assert other.get("/account").status_code == 302


def test_the_menu_can_only_log_out_from_a_page_of_this_site(arena):
    ann = arena.person("Ann")
    for site in ("cross-site", "same-site", None):
        headers = {"Sec-Fetch-Site": site} if site else {}
        assert ann.browser.post("/logout", headers=headers).status_code in (400, 403)
        assert ann.browser.get("/account").status_code == 200
    assert ann.browser.post("/logout", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 302
    assert ann.browser.get("/account").status_code == 302


def test_changing_the_password_ends_all_other_logins_and_keeps_this_browser(arena):
    ann, other = arena.person("Ann"), arena.app.test_client()
    arena.log_in(other, "Ann")
    for current, new in (("guess", "another good one"), (PASSWORD, "short")):
        form = {"current_password": current, "new_password": new}
        assert ann.post("/account/password", form).status_code == 422
    assert other.get("/account").status_code == 200
    ann.post("/account/password", {"current_password": PASSWORD, "new_password": "another good one"})
    assert [each.get("/account").status_code for each in (ann.browser, other)] == [200, 302]
    assert arena.log_in(other, "Ann").status_code == 422
    assert arena.log_in(other, "Ann", "another good one").status_code == 302


def test_unknown_name_and_wrong_password_return_the_same_response(arena):
    arena.person("Ann")
    browser = arena.app.test_client()
    answers = [arena.log_in(browser, name, "not the password") for name in ("Ann", "Bob")]
    assert [answer.status_code for answer in answers] == [422, 422]
    texts = [without_form_tokens(answer.text) for answer in answers]
    assert texts[0].replace('value="Ann"', 'value="Bob"') == texts[1]


@pytest.mark.parametrize(
    "target",
    [
        *("https://evil.example", "//evil.example", "////evil.example", "/\\evil.example"),
        *("\\\\evil.example", "/%09/evil.example", "/%5Cevil.example", "/%2F/evil.example"),
        *("https:evil.example", "javascript:alert(1)", "/account\r\nSet-Cookie: a=b"),
        *("/account%0d%0aSet-Cookie:a=b", "/nothing-here", "/logout", "account", " /account"),
    ],
)
def test_login_never_redirects_to_another_site(arena, target):
    arena.person("Ann")
    answer = arena.log_in(arena.app.test_client(), "Ann", next=target)
    assert answer.headers["Location"] == "/"
    assert "a=b" not in str(answer.headers)


def test_login_redirects_to_the_page_that_required_it(arena):
    arena.competition()
    arena.person("Ann")
    browser, wanted = arena.app.test_client(), "/competitions/toxicity/submissions?page=2"
    asked = browser.get(wanted).headers["Location"]
    form = {"csrf_token": arena.form_token(browser, asked), "name": "Ann", "password": PASSWORD}
    assert browser.post(asked, data=form).headers["Location"] == wanted


def test_upload_with_an_ended_login_asks_to_log_in(arena):
    arena.competition()
    path, browser = "/competitions/toxicity/submit", arena.app.test_client()
    assert browser.post(path, data={"x": "y"}).headers["Location"].startswith("/login")
    answer = browser.post(path, headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json["error"]) == (401, "login_needed")


def guesses_from(arena, form, count):
    """Return the statuses of login attempts with other names and these forwarded addresses."""
    browser = arena.app.test_client()
    token = arena.form_token(browser)
    return [
        browser.post(
            "/login",
            data={"csrf_token": token, "name": f"n{place}", "password": "guess"},
            headers={"X-Forwarded-For": form.format(place), "Forwarded": f"for=10.0.1.{place}"},
        ).status_code
        for place in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("trusted_proxies", "form", "last"),
    [
        (0, "10.0.0.{}", 429),
        *((1, form, 429) for form in ("10.0.0.1:{}", '"[2001:db8::{}]:1"', "2001:db8::{}%eth0", "{}")),
        *((1, form, 429) for form in ('"{}, 10.0.0.1', "unknown:{}")),
        (1, "spoofed, 10.0.0.{}", 422),
    ],
)
def test_only_the_address_from_a_trusted_proxy_has_its_own_limit(make_arena, trusted_proxies, form, last):
    arena = make_arena(rate_limits=True, trusted_proxies=trusted_proxies)
    assert guesses_from(arena, form, 21) == [422] * 20 + [last]
