"""Second factors on pages: setup, login in two steps, changes, required factors, resets."""

import re

import pytest
from sqlalchemy import select, update

from grader.models import AuditEntry, FactorStep, LinkPurpose, Mail, Role, SecondFactor, User
from grader.services.identity import login_guesses, one_time_links
from tests.fixtures.arena import PASSWORD
from tests.fixtures.authenticators import Passkey, code_at, options_in, secret_in

FACTORS, STEP = "/account/second-factors", "/login/second-factor"


def send(arena, browser, path, **form):
    return browser.post(path, data={"csrf_token": arena.form_token(browser), **form})


def unlock(person):
    """Confirm the password and return the page."""
    assert person.post(f"{FACTORS}/unlock", {"current_password": PASSWORD}).status_code == 302
    return person.browser.get(FACTORS).text


def add_app(person):
    """Set up an app as the first factor; return its secret and the recovery codes."""
    secret = secret_in(unlock(person))
    added = person.post(FACTORS, {"code": code_at(secret, person.arena.now(), steps=-1)})
    assert added.status_code == 201, added.text
    return secret, re.findall(r"\b[a-z2-7]{4}(?:-[a-z2-7]{4}){3}\b", added.text)


def add_passkey(person, **options):
    passkey = Passkey(**options)
    page = unlock(person)
    added = person.post(FACTORS, {"passkey": passkey.create(options_in(page, "create")), "name": "Key"})
    assert added.status_code == 201, added.text
    return passkey


def first_step(arena, name="Ann", **query):
    """Enter the right password in a new browser."""
    browser = arena.app.test_client()
    assert arena.log_in(browser, name, **query).headers["Location"] == STEP
    return browser


def is_logged_in(browser):
    return browser.get("/account").status_code == 200


def actions(arena):
    with arena.database.read() as session:
        return list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))


def test_login_asks_for_the_code_and_then_opens_the_requested_page(arena):
    ann = arena.person("Ann")
    secret, codes = add_app(ann)
    assert len(set(codes)) == 10
    browser = first_step(arena, next="/account/delete")
    assert browser.get_cookie("fairboard_login") is None
    assert not is_logged_in(browser)
    assert send(arena, browser, STEP, code="000000").status_code == 422
    assert not is_logged_in(browser)
    answer = send(arena, browser, STEP, code=code_at(secret, arena.now()))
    assert answer.headers["Location"] == "/account/delete"
    assert is_logged_in(browser)
    assert actions(arena) == ["second_factor.add", "second_factor.recovery_codes"]


def test_every_kind_of_login_asks_for_the_second_factor(arena):
    ann = arena.person("Ann")
    add_app(ann)
    with arena.database.write() as session:
        user = session.get_one(User, ann.user.id)
        link = one_time_links.create(session, purpose=LinkPurpose.LOG_IN, user=user, now=arena.now())
        reset = one_time_links.create(session, purpose=LinkPurpose.RESET_PASSWORD, user=user, now=arena.now())
    browser = arena.app.test_client()
    assert send(arena, browser, f"/login/{link}").headers["Location"] == STEP
    assert send(arena, browser, f"/reset/{reset}", password="quite another one").status_code == 302
    assert not is_logged_in(browser)
    assert arena.log_in(browser, "Ann", "quite another one").headers["Location"] == STEP


def test_a_waiting_login_is_bound_to_its_browser_and_expires(arena):
    secret, codes = add_app(arena.person("Ann"))
    browser = first_step(arena)
    assert send(arena, arena.app.test_client(), STEP, code=codes[0]).headers["Location"].startswith("/login")
    with arena.database.write() as session:
        session.execute(update(FactorStep).values(expires_at=arena.now()))
    answer = send(arena, browser, STEP, code=code_at(secret, arena.now()))
    assert answer.headers["Location"].startswith("/login")
    assert "Too much time has passed" in browser.get("/login").text
    assert not is_logged_in(browser)


def test_a_password_change_ends_waiting_logins(arena):
    ann = arena.person("Ann")
    _, codes = add_app(ann)
    browser = first_step(arena)
    ann.post("/account/password", {"current_password": PASSWORD, "new_password": "another good one"})
    assert send(arena, browser, STEP, code=codes[0]).headers["Location"].startswith("/login")


def test_the_first_second_factor_ends_the_other_sessions(arena):
    ann = arena.person("Ann")
    other = arena.app.test_client()
    arena.log_in(other, "Ann")
    add_app(ann)
    assert is_logged_in(ann.browser)
    assert not is_logged_in(other)


def test_wrong_codes_are_limited_except_on_known_devices(make_arena, database_url):
    arena = make_arena(rate_limits=True, database_url=database_url)
    ann = arena.person("Ann")
    secret, _ = add_app(ann)
    browser = first_step(arena)
    count = login_guesses.CODES[0].count
    statuses = [send(arena, browser, STEP, code="000000").status_code for _ in range(count + 1)]
    assert statuses == [422] * count + [429]
    arena.log_in(ann.browser, "Ann")  # a browser that has logged in before
    code = code_at(secret, arena.now())
    assert send(arena, ann.browser, STEP, code=code).status_code == 302
    for _ in range(count + 1):  # a used code is not a guess
        arena.log_in(ann.browser, "Ann")
        used = send(arena, ann.browser, STEP, code=code)
        assert (used.status_code, "already used this code" in used.text) == (422, True)
    locked = send(arena, browser, STEP, code="000000")
    assert locked.status_code == 429
    assert "10 wrong codes were entered" in locked.text
    assert int(locked.headers["Retry-After"]) > 3000
    fresh = code_at(secret, arena.now(), steps=1)
    assert send(arena, ann.browser, STEP, code=fresh).status_code == 302


def test_a_copied_passkey_is_rejected_and_reported(make_arena, post):
    arena = make_arena(**post.settings | {"base_url": "http://localhost"})
    ann = arena.person("Ann")
    with arena.database.write() as session:
        user = session.get_one(User, ann.user.id)
        user.email, user.email_key, user.email_verified_at = ("a@example.org",) * 2 + (arena.now(),)
    passkey = add_passkey(ann)
    copy = Passkey(passkey.key, passkey.id)
    browser = first_step(arena)
    assert (
        send(arena, browser, STEP, passkey=passkey.use(options_in(browser.get(STEP).text, "get"))).status_code
        == 302
    )
    browser = first_step(arena)
    response = copy.use(options_in(browser.get(STEP).text, "get"))
    assert send(arena, browser, STEP, passkey=response).status_code == 422
    assert actions(arena)[-1] == "second_factor.copied"
    with arena.database.read() as session:
        bodies = list(session.scalars(select(Mail.body).order_by(Mail.id)))
    assert "the passkey “Key” was added" in bodies[0]
    assert "may have been copied" in bodies[-1]


def test_invalid_responses_of_passkeys_are_rejected(arena):
    passkey = add_passkey(arena.person("Ann"))
    theirs = add_passkey(arena.person("Bob"))
    other_step = options_in(first_step(arena).get(STEP).text, "get")
    browser = first_step(arena)
    options = options_in(browser.get(STEP).text, "get")
    assert options["userVerification"] == "required"
    forged = Passkey(id=passkey.id)
    hasty = Passkey(passkey.key, passkey.id, counter=10, is_verifying=False)
    responses = {
        "wrong origin": passkey.use(options, origin="https://evil.example"),
        "wrong site": passkey.use(options, rp_id="evil.example"),
        "challenge of another login": passkey.use(other_step),
        "passkey of another user": theirs.use(options),
        "another key": forged.use(options),
        "user not verified": hasty.use(options),
        "response to creation": passkey.create({"rp": {"id": "localhost"}, **options}),
        "no JSON": "{",
        "no object": "[]",
        "no id": "{}",
        "id only": '{"id": "x"}',
        "deep": "[" * 50_000,
    }
    accepted = [
        name
        for name, sent in responses.items()
        if send(arena, browser, STEP, passkey=sent).status_code != 422
    ]
    assert accepted == []
    assert not is_logged_in(browser)


def test_a_response_is_accepted_only_once(arena):
    ann = arena.person("Ann")
    passkey = add_passkey(ann, counter=0)
    browser = first_step(arena)
    kept = browser.get_cookie("fairboard_session").value
    response = passkey.use(options_in(browser.get(STEP).text, "get"))
    assert send(arena, browser, STEP, passkey=response).status_code == 302
    thief = arena.app.test_client()
    thief.set_cookie("fairboard_session", kept)
    assert send(arena, thief, STEP, passkey=response).headers["Location"].startswith("/login")
    creation = options_in(ann.browser.get(FACTORS).text, "create")
    second = Passkey()
    created = second.create(creation)
    assert ann.post(FACTORS, {"passkey": created}).status_code == 303
    again = ann.post(FACTORS, {"passkey": created, "name": "Again"})
    assert (again.status_code, "could not be verified" in again.text) == (422, True)


def test_removal_requires_the_password_and_a_second_factor(arena):
    ann = arena.person("Ann")
    _, codes = add_app(ann)
    ann.browser.delete_cookie("fairboard_session")  # forgets the confirmation
    remove = f"{FACTORS}/1/remove"
    assert ann.confirm(remove).status_code == 409
    wrong = ann.post(f"{FACTORS}/unlock", {"current_password": "guess"})
    assert (wrong.status_code, "Wrong password." in wrong.text) == (422, True)
    assert "Add an authenticator app" not in unlock(ann)
    assert ann.confirm(remove).status_code == 409
    assert ann.post(f"{FACTORS}/recovery-codes").status_code == 409
    assert ann.post(f"{FACTORS}/unlock", {"code": "000000"}).status_code == 422
    with arena.database.read() as session:
        assert session.scalar(select(SecondFactor.id)) == 1
    assert ann.post(f"{FACTORS}/unlock", {"code": codes[0]}).status_code == 302
    assert "recovery codes will be deleted" in ann.post(remove).text
    assert ann.confirm(remove).status_code == 303
    assert actions(arena)[-1] == "second_factor.remove"
    browser = arena.app.test_client()
    assert arena.log_in(browser, "Ann").headers["Location"] == "/"


def test_users_cannot_change_other_users_factors(arena):
    add_app(arena.person("Ann"))
    bob = arena.person("Bob")
    unlock(bob)
    assert bob.confirm(f"{FACTORS}/1/remove").status_code == 404
    assert bob.confirm("/people/1/reset-second-factors").status_code == 403


def test_administrators_reset_the_factors_of_others_but_not_their_own(arena):
    ann, root = arena.person("Ann"), arena.person("Root", is_admin=True)
    add_app(ann)
    assert "Reset second factors" in root.browser.get("/people").text
    assert root.confirm(f"/people/{ann.user.id}/reset-second-factors").status_code == 303
    assert not is_logged_in(ann.browser)
    assert actions(arena)[-1] == "second_factor.reset"
    assert arena.log_in(ann.browser, "Ann").headers["Location"] == "/"
    add_app(root)
    assert root.confirm(f"/people/{root.user.id}/reset-second-factors").status_code == 403
    path, client = f"/api/v1/people/{ann.user.id}/reset-second-factors", arena.app.test_client()
    assert client.post(path, headers=root.bearer).status_code == 404
    assert is_logged_in(ann.browser), "Resetting nothing ends no session."
    add_app(ann)
    assert client.post(path, headers=root.bearer).status_code == 204


def test_required_factors_come_before_all_other_pages(make_arena):
    arena = make_arena(require_second_factor="organizers")
    arena.competition()
    people = {"root": arena.person("Root", is_admin=True), "edda": arena.person("Edda")}
    arena.give_role(people["edda"], Role.VIEWER)
    ann = arena.person("Ann")
    assert ann.browser.get("/account").status_code == 200
    for person in people.values():
        for path in ("/people", "/competitions/toxicity/organize/settings", "/account", "/"):
            answer = person.browser.get(path)
            assert answer.headers["Location"] == f"{FACTORS}?next={path}"
        created = person.post("/tokens", {"name": "x", "scopes": "admin"})
        assert created.headers["Location"] == FACTORS
        posted = person.post("/competitions/toxicity/organize/announcements", {"title": "x", "text": "y"})
        assert posted.headers["Location"] == FACTORS
        refused = person.browser.get("/", headers={"Accept": "application/json"})
        assert (refused.status_code, refused.json["error"]) == (403, "second_factor_missing")
        assert arena.app.test_client().get("/api/v1/me", headers=person.bearer).status_code == 200
    root = people["root"]
    assert "requires a second factor" in root.browser.get(f"{FACTORS}?next=/people").text
    secret = secret_in(unlock(root))
    page = root.post(f"{FACTORS}?next=/people", {"code": code_at(secret, arena.now())}).text
    assert 'href="/people">Continue' in page
    assert root.browser.get("/people").status_code == 200


@pytest.mark.parametrize(
    ("base_url", "is_offered"),
    [
        (None, True),
        ("http://localhost", True),
        ("http://LocalHost:80/", True),
        ("http://localhost:9", False),
        ("http://board.example.org", False),
        ("http://127.0.0.1", False),
    ],
)
def test_passkeys_are_offered_only_at_the_sites_own_secure_address(make_arena, base_url, is_offered):
    arena = make_arena(base_url=base_url)
    page = unlock(arena.person("Ann"))
    assert ("data-passkey-create" in page, "Passkeys require HTTPS" in page) == (is_offered, not is_offered)
