"""Addresses and browsers shared by teams: recorded at login, displayed only as matches."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, func, select

from grader.models import LoginPlace, Role
from tests.fixtures.arena import PASSWORD

PAGE = "/competitions/toxicity/organize/fair-play/same-people"
API = "/api/v1/competitions/toxicity/organize/fair-play/same-people"


@pytest.fixture
def scene(make_arena: Callable[..., Any]) -> Callable[..., Any]:
    def make(**settings):
        arena = make_arena(trusted_proxies=1, **settings)
        arena.competition()
        for name, role in (("Ed", Role.EDITOR), ("Vic", Role.VIEWER)):
            person = arena.person(name)
            setattr(arena, name.lower(), person)
            arena.give_role(person, role)
        for number, name in enumerate(("Ann", "Bob")):
            arena.submit(arena.person(name), arena.truth.predictions(seed=number))
        with arena.database.write() as session:
            session.execute(delete(LoginPlace))
        return arena

    return make


def log_in(arena, browser, name: str, address: str):
    form = {"csrf_token": arena.form_token(browser), "name": name, "password": PASSWORD}
    answer = browser.post("/login", data=form, headers={"X-Forwarded-For": address})
    assert answer.status_code == 302, answer.text


def test_two_accounts_with_one_browser_are_shown_without_address_or_browser(scene):
    arena = scene()
    browser = arena.app.test_client()
    log_in(arena, browser, "Ann", "192.0.2.1")
    browser.delete_cookie("fairboard_login")
    log_in(arena, browser, "Bob", "198.51.100.9")

    page = arena.ed.browser.get(PAGE)

    assert page.status_code == 200
    assert "The same browser" in page.text and "The same address" not in page.text
    assert "proves nothing" in page.text and "30 days" in page.text
    answer = arena.app.test_client().get(API, headers=arena.ed.bearer)
    (place,) = answer.json["places"]
    assert place["kind"] == "browser"
    assert {each["person"]: each["login_count"] for each in place["logins"]} == {"Ann": 1, "Bob": 1}
    with arena.database.read() as session:
        hashes = session.scalars(select(LoginPlace.place_hash)).all()
    for text in (page.text, answer.text):
        assert not any(secret in text for secret in ("192.0.2.1", "198.51.100.9", "Werkzeug", *hashes))


def test_viewers_and_participants_cannot_open_the_page(scene):
    arena = scene()
    assert arena.vic.browser.get(PAGE).status_code == 403
    assert arena.app.test_client().get(API, headers=arena.vic.bearer).status_code == 403
    assert "same-people" not in arena.vic.browser.get(PAGE.removesuffix("/same-people")).text
    assert "same-people" in arena.ed.browser.get(PAGE.removesuffix("/same-people")).text


def test_the_operator_can_disable_the_page(scene):
    arena = scene(note_shared_logins=False)
    browser = arena.app.test_client()
    log_in(arena, browser, "Ann", "192.0.2.1")
    with arena.database.read() as session:
        assert session.scalar(select(func.count()).select_from(LoginPlace)) == 0
    assert "FAIRBOARD_NOTE_SHARED_LOGINS" in arena.ed.browser.get(PAGE).text
    assert arena.app.test_client().get(API, headers=arena.ed.bearer).json["is_noted"] is False
