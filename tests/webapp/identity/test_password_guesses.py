"""Password guesses on pages: limits, and no lockout of users by attackers."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from grader.errors import ErrorKind, Refusal
from grader.models import LinkPurpose
from grader.services.identity import (
    accounts,
    administrators,
    login_guesses,
    one_time_links,
    passwords,
)
from webapp.server import connections

PASSWORD = "correct horse battery"
ENDING_LOGINS = {"account.log_out", "account.log_out_everywhere", "account.end_login"}
HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def site(make_arena, database_url):
    """A rate-limited site behind a trusted proxy, without a reachable broker."""
    return make_arena(
        rate_limits=True, trusted_proxies=1, broker_url="redis://127.0.0.1:1/0", database_url=database_url
    )


def log_in(site, browser, name, password, address):
    form = {"csrf_token": site.form_token(browser), "name": name, "password": password}
    return browser.post("/login", data=form, headers={"X-Forwarded-For": address})


def guesser(site, name, address="", **known):
    account = login_guesses.account_hash(name, secret=site.settings.secret())
    return login_guesses.Guesser(account=account, address=address, **known)


def attack(site, name):
    """Use up all login attempts for a name from unknown addresses."""
    with site.database.write() as session:
        for place in range(login_guesses.STRANGERS[0].count):
            who = guesser(site, name, address=f"address {place}")
            login_guesses.begin(session, guesser=who, now=site.now())
    assert log_in(site, site.app.test_client(), name, "guess", "10.9.9.9").status_code == 429


def test_a_lock_shows_its_end_and_the_same_page_for_an_unknown_name(site):
    site.person("Ada")
    answers = {}
    for name in ("Ada", "Bob"):
        attack(site, name)
        browser = site.app.test_client()
        right = log_in(site, browser, name, PASSWORD, ELSEWHERE)
        assert right.status_code == 429
        assert 3500 < int(right.headers["Retry-After"]) <= 3600
        assert "Try again in" in right.text
        assert f'value="{name}"' in right.text
        answers[name] = {line for line in right.text.replace(name, "…").splitlines() if "csrf" not in line}
    assert len(answers["Ada"] ^ answers["Bob"]) <= 2  # The remaining time in the text may differ.
    assert "Forgot your password?" in right.text


def test_only_a_users_own_cookie_unlocks_a_locked_name(site):
    site.person("Ada")
    browsers = [site.person("Bob").browser]
    for cookie in ("", "forged", "W10.aaaa.bbbb"):
        browsers.append(site.app.test_client())
        browsers[-1].set_cookie("fairboard_device", cookie)
    attack(site, "Ada")
    answers = [log_in(site, browser, "Ada", PASSWORD, ELSEWHERE) for browser in browsers]
    assert [answer.status_code for answer in answers] == [429] * 4


def test_a_password_change_invalidates_old_device_cookies_but_keeps_the_browser_known(site):
    ada = site.person("Ada")
    lost = site.app.test_client()
    assert log_in(site, lost, "Ada", PASSWORD, HOME).status_code == 302
    changed = ada.post(
        "/account/password", {"current_password": PASSWORD, "new_password": "another good one"}
    )
    assert changed.status_code == 303
    attack(site, "Ada")
    assert log_in(site, lost, "Ada", "another good one", HOME).status_code == 429
    assert log_in(site, ada.browser, "Ada", "another good one", ELSEWHERE).status_code == 302


def test_a_reset_link_works_for_a_user_who_is_locked_everywhere(site):
    ada = site.person("Ada")
    attack(site, "Ada")
    with site.database.write() as session:
        token = one_time_links.create(
            session, purpose=LinkPurpose.RESET_PASSWORD, user=ada.user, now=site.now()
        )
    browser = site.app.test_client()
    form = {"csrf_token": site.form_token(browser, f"/reset/{token}"), "password": "another good one"}
    assert browser.post(f"/reset/{token}", data=form).status_code == 302
    assert log_in(site, browser, "Ada", "another good one", ELSEWHERE).status_code == 302


@pytest.mark.parametrize("path", ["/account/password", "/account/email", "/account/delete"])
def test_all_password_forms_share_one_limit(site, path):
    ada = site.person("Ada")
    with site.database.write() as session:
        who = guesser(site, "Ada", device=f"session of {ada.user.id}")
        for _ in range(login_guesses.ONE_DEVICE[0].count - 2):
            login_guesses.begin(session, guesser=who, now=site.now())
    form = {"current_password": "guess", "new_password": "another good one", "email": "ada@example.org"}
    answers = [ada.post(path, form) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [422, 422, 429]
    assert int(answers[-1].headers["Retry-After"]) > 3000
    # Logging in has a separate limit.
    assert log_in(site, ada.browser, "Ada", PASSWORD, ELSEWHERE).status_code == 302


def test_a_busy_site_rejects_a_login_without_counting_an_attempt(site, monkeypatch):
    site.person("Ada")
    hasher = site.app.extensions["fairboard"].passwords
    browser = site.app.test_client()
    token = site.form_token(browser)
    form = {"csrf_token": token, "name": "Bob", "password": "guess"}
    monkeypatch.setitem(hasher._places, False, threading.BoundedSemaphore(1))
    looked: list[object] = []
    monkeypatch.setattr(login_guesses, "require_room", lambda *_, **given: looked.append(given))
    with hasher._places[False]:  # A full queue.
        answer = browser.post("/login", data=form)
    assert looked == []  # A request that is rejected during a flood must be cheap.
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert 'value="Bob"' in answer.text and "did not count as an attempt" in answer.text
    assert accounts.has_password(None, "guess", passwords=hasher) is False


def test_every_form_that_hashes_a_password_uses_its_own_queue(site, monkeypatch):
    with site.database.write() as session:
        setup = administrators.create_setup_link(session, now=site.now())
    ada = site.person("Ada")
    with site.database.write() as session:
        reset = one_time_links.create(
            session, purpose=LinkPurpose.RESET_PASSWORD, user=ada.user, now=site.now()
        )
        invitation = one_time_links.create(session, purpose=LinkPurpose.SIGN_UP, now=site.now())
    tokens = {"/setup": setup, "/reset": reset, "/sign-up": invitation}
    waited: set[str] = set()

    @contextmanager
    def turn(_hasher: object, *, is_known: bool = False) -> Iterator[None]:
        waited.add(path)
        raise Refusal("too_many_hashes", ErrorKind.NOT_YET, "Wait.")
        yield

    monkeypatch.setattr(passwords.BoundedHasher, "turn", turn)
    form = {
        "name": "Bob",
        "email": "ada@example.org",
        **dict.fromkeys(("password", "current_password", "new_password", "old_password"), PASSWORD),
    }
    for rule in site.app.url_map.iter_rules():
        is_ours = rule.rule.startswith("/") and not rule.rule.startswith(("/api", "/competitions"))
        if "POST" not in rule.methods or not is_ours or rule.endpoint in ENDING_LOGINS:
            continue
        path = re.sub("<int:.*?>", "1", rule.rule)
        path = re.sub("<.*?>", str(next((v for k, v in tokens.items() if path.startswith(k)), "x")), path)
        stranger = site.app.test_client()
        stranger.post(path, data={"csrf_token": site.form_token(stranger), **form})
        ada.post(path, form)
    assert {path for path in waited if not connections.hashes_a_password("POST", path)} == set()
    for begin in connections.PASSWORD_PATHS:
        assert any(path == begin or path.startswith(f"{begin}/") for path in waited), begin


def test_a_waiting_sign_up_uses_no_database_connection(site, monkeypatch):
    pool = site.app.extensions["fairboard"].database.engine.pool
    held: list[int] = []
    real = passwords.BoundedHasher.turn

    def turn(hasher: passwords.BoundedHasher, *, is_known: bool = False):
        held.append(pool.checkedout())
        return real(hasher, is_known=is_known)

    monkeypatch.setattr(passwords.BoundedHasher, "turn", turn)
    browser = site.app.test_client()
    form = {"csrf_token": site.form_token(browser, "/sign-up"), "name": "Bob", "password": PASSWORD}
    assert browser.post("/sign-up", data=form).status_code == 302
    assert held == [0]
