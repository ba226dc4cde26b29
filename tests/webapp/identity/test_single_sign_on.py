"""Single sign-on with a real provider: logins, new accounts, linking, roles, and hostile responses."""

import html
import re
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, FactorKind, Identity, LinkPurpose, Login, SecondFactor, User
from grader.services.identity import one_time_links, openid_connect
from tests.fixtures.arena import PASSWORD, Person
from tests.fixtures.authenticators import code_at, secret_in
from tests.fixtures.identity_providers import log_in_with, sign_up_with

HOUR = 3600


@pytest.fixture
def arena(make_arena, campus):
    """A site with the provider `campus`."""
    return make_arena(oidc_providers=campus.table())


def names(arena):
    with arena.database.read() as session:
        return list(session.scalars(select(User.name).order_by(User.id)))


def account(arena, name):
    with arena.database.read() as session:
        return session.scalars(select(User).where(User.name == name)).one()


def identity(arena, name):
    with arena.database.read() as session:
        return session.scalars(select(Identity).join(Identity.user).where(User.name == name)).one()


def actions(arena):
    with arena.database.read() as session:
        return list(session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)))


def who(browser):
    """Return the name of the logged-in user."""
    found = re.search(r"<h1><bdi>(.*?)</bdi></h1>", browser.get("/account").text)
    return found[1] if found else None


def start(arena, person, provider, password=PASSWORD):
    return person.post(f"/account/identities/{provider.slug}/link", {"current_password": password})


def link(arena, person, provider, name):
    """Link a user to a person at the provider; return the response to the callback."""
    page = start(arena, person, provider).text
    url = html.unescape(re.findall(rf'href="({provider.issuer}[^"]+)"', page)[0])
    return person.browser.get(provider.answer(url, name))


def turn_off_passwords(arena):
    switched = {"password_login": False, "rescue_administrator": "root"}
    settings = arena.settings.model_copy(update=switched)
    object.__setattr__(arena.app.extensions["fairboard"], "settings", settings)


def reset_link(arena, person):
    with arena.database.write() as session:
        return one_time_links.create(
            session, purpose=LinkPurpose.RESET_PASSWORD, user=person.user, now=arena.now()
        )


def forget_metadata(arena):
    """Let the provider's client read the metadata again."""
    arena.app.extensions["fairboard"].providers["campus"]._app = None


def test_a_new_person_chooses_a_name_and_logs_in_again(arena, campus):
    browser = arena.app.test_client()
    answer = sign_up_with(arena, campus, browser, "ada", next="/account")
    assert (answer.status_code, answer.location, who(browser)) == (302, "/account", "ada")
    again = arena.app.test_client()
    assert log_in_with(campus, again, "ada").location == "/"
    assert (who(again), names(arena), actions(arena)) == ("ada", ["ada"], ["identity.sign_up"])


def test_a_verified_address_is_used_only_if_it_is_free_and_never_links_accounts(make_arena, campus, library):
    mail = {"smtp_host": "127.0.0.1", "smtp_sender": "b@example.org", "base_url": "http://localhost"}
    arena = make_arena(oidc_providers=campus.table() + library.table(), **mail)
    sign_up_with(arena, campus, arena.app.test_client(), "ada")
    hostile = arena.app.test_client()
    sign_up_with(arena, library, hostile, "ada", name="Mallory")
    sign_up_with(arena, campus, arena.app.test_client(), "eve")
    found = {name: account(arena, name) for name in ("ada", "Mallory", "eve")}
    assert (found["ada"].email, found["ada"].email_verified_at is None) == ("ada@example.org", False)
    assert [found[name].email for name in ("Mallory", "eve")] == [None, None]
    assert who(hostile) == "Mallory"
    assert identity(arena, "eve").email is None


def test_linking_requires_the_password_and_the_same_session(arena, campus):
    ann, bob = arena.person("Ann"), arena.person("Bob")
    assert start(arena, ann, campus, "wrong").status_code == 422
    page = start(arena, ann, campus).text
    url = html.unescape(re.findall(rf'href="({campus.issuer}[^"]+)"', page)[0])
    callback = campus.answer(url, "ada")
    with ann.browser.session_transaction() as ours, bob.browser.session_transaction() as theirs:
        theirs.update(ours)
    assert bob.browser.get(callback).status_code == 400
    assert arena.app.test_client().get(callback).status_code == 400
    assert link(arena, ann, campus, "ada").location == "/account"
    assert link(arena, ann, campus, "ada").location == "/account"
    taken = link(arena, bob, campus, "ada")
    assert (taken.status_code, "Another account is already linked" in taken.text) == (409, True)
    assert link(arena, ann, campus, "bob").status_code == 409
    browser = arena.app.test_client()
    log_in_with(campus, browser, "ada")
    assert (who(browser), actions(arena)) == ("Ann", ["identity.link"])


def test_unlinking_ends_the_sessions_and_is_refused_for_the_only_login(arena, campus):
    ann = arena.person("Ann")
    link(arena, ann, campus, "ada")
    browser = arena.app.test_client()
    log_in_with(campus, browser, "ada")
    path = f"/account/identities/{identity(arena, 'Ann').id}/unlink"
    assert arena.person("Cem").post(path).status_code == 404
    assert ann.confirm(path).location == "/account"
    assert (who(browser), who(ann.browser)) == (None, "Ann")
    sign_up_with(arena, campus, browser, "bob")
    bob = Person(arena, account(arena, "bob"), browser, "")
    answer = bob.confirm(f"/account/identities/{identity(arena, 'bob').id}/unlink")
    assert (answer.status_code, "could not log in without" in answer.text) == (409, True)


def test_administrators_see_and_unlink_identities(arena, campus):
    root = arena.person("Root", is_admin=True)
    browser = arena.app.test_client()
    sign_up_with(arena, campus, browser, "ada")
    sign_up_with(arena, campus, arena.app.test_client(), "bob")
    people = arena.app.test_client().get("/api/v1/people", headers=root.bearer).json["people"]
    found = {each["name"]: each["linked_logins"] for each in people}
    assert (found["ada"][0]["provider"], found["ada"][0]["email"]) == ("campus", "ada@example.org")
    path = f"/people/{account(arena, 'ada').id}/identities/{found['ada'][0]['id']}"
    assert path in root.browser.get("/people").text
    assert root.confirm(f"{path}/unlink").location == "/people"
    other = f"/people/{account(arena, 'bob').id}/identities/{found['bob'][0]['id']}"
    assert arena.app.test_client().delete(f"/api/v1{other}", headers=root.bearer).status_code == 204
    assert (who(browser), actions(arena)[-2:]) == (None, ["identity.unlink", "identity.unlink"])


def test_the_claim_grants_and_revokes_the_administrator_role(make_arena, campus):
    table = campus.table(admin_claim="resource.roles", admin_value="fairboard-admin")
    arena = make_arena(oidc_providers=table, rescue_administrator="Bob")
    campus.claims("ada", resource={"roles": ["staff", "fairboard-admin"]})
    sign_up_with(arena, campus, arena.app.test_client(), "ada")
    assert account(arena, "ada").is_admin
    campus.claims("ada", resource={"roles": ["staff"]})
    log_in_with(campus, arena.app.test_client(), "ada")
    assert account(arena, "ada").is_admin, "The last administrator keeps the role."
    bob = arena.person("Bob", is_admin=True)
    link(arena, bob, campus, "bob")
    log_in_with(campus, arena.app.test_client(), "bob")
    assert account(arena, "Bob").is_admin, "The rescue administrator keeps the role."
    browser = arena.app.test_client()
    log_in_with(campus, browser, "ada")
    assert (account(arena, "ada").is_admin, browser.get("/people").status_code) == (False, 403)
    assert actions(arena).count("administrator.unmake") == 1


def test_a_callback_is_accepted_only_once(arena, campus):
    browser = arena.app.test_client()
    callback = campus.answer(browser.get("/login/with/campus").location, "ada")
    with browser.session_transaction() as kept:
        before = dict(kept)
    assert browser.get(callback).location == "/sign-up/with/campus"
    assert browser.get(callback).status_code == 400
    with browser.session_transaction() as kept:
        kept.update(before)
    assert browser.get(callback).status_code == 403, "The provider rejects the used code."
    assert arena.app.test_client().get(callback).status_code == 400


def test_login_pages_in_two_tabs_both_lead_to_the_page_that_was_requested(arena, campus):
    sign_up_with(arena, campus, arena.app.test_client(), "ada")
    browser = arena.app.test_client()
    pages = ("/account", "/account/delete")
    tabs = [
        campus.answer(browser.get("/login/with/campus", query_string={"next": page}).location, "ada")
        for page in pages
    ]
    for tab, page in zip(tabs, pages, strict=True):
        assert (browser.get(tab).location, who(browser)) == (page, "ada")
    used = browser.get(tabs[0])
    assert (used.status_code, used.location, who(browser)) == (303, "/", "ada")


@pytest.mark.parametrize(
    "state",
    [
        {"id_token": {"nonce": "another"}},
        {"id_token": {"iss": "http://127.0.0.1:1"}},
        {"id_token": {"aud": "another client"}},
        {"id_token": {"aud": "another client", "azp": "fair board"}},
        {"id_token": {"aud": ["fair board", "another"]}},
        {"id_token": {"sub": 7}},
        {"id_token": {"at_hash": "AAAA"}},
        {"userinfo": {"sub": "another"}},
        {"is_signed": False},
        {"skew": 2 * openid_connect.LEEWAY_SECONDS},
        {"skew": -10 * HOUR - 2 * openid_connect.LEEWAY_SECONDS},
    ],
    ids=str,
)
def test_an_invalid_token_is_rejected(arena, campus, state):
    campus.change(**state)
    answer = log_in_with(campus, arena.app.test_client(), "ada")
    assert (answer.status_code, "did not confirm your login" in answer.text) == (403, True)
    assert names(arena) == []


def test_while_the_provider_is_down_the_password_still_works(arena, campus):
    ann, browser = arena.person("Ann"), arena.app.test_client()
    begun = arena.app.test_client()
    campus.change(down=True)
    answer = browser.get("/login/with/campus")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
    assert 'name="password"' in answer.text
    assert arena.log_in(browser, "Ann").status_code == 302
    assert start(arena, ann, campus).status_code == 503
    campus.change(down=False)
    callback = campus.answer(begun.get("/login/with/campus").location, "ada")
    campus.change(down=True)
    assert begun.get(callback).status_code == 503


def test_an_account_disabled_at_the_provider_cannot_log_in_and_its_session_ends(make_arena, campus):
    arena = make_arena(oidc_providers=campus.table(session_hours=8))
    browser = arena.app.test_client()
    sign_up_with(arena, campus, browser, "ada")
    with arena.database.read() as session:
        login = session.scalars(select(Login)).one()
        assert login.expires_at - login.created_at == timedelta(hours=8)
    campus.change(disabled=["ada"])
    with pytest.raises(AssertionError, match="This account is disabled"):
        log_in_with(campus, arena.app.test_client(), "ada")
    other = arena.app.test_client()
    other.get("/login/with/campus")
    with other.session_transaction() as kept:
        state = next(iter(kept["oidc_flows"]))
    answer = other.get(f"/login/with/campus/callback?error=access_denied&state={state}")
    assert (answer.status_code, who(other)) == (403, None)


def test_the_response_of_one_provider_is_not_accepted_as_that_of_another(make_arena, campus, library):
    arena = make_arena(oidc_providers=campus.table() + library.table())
    browser = arena.app.test_client()
    callback = campus.answer(browser.get("/login/with/campus").location, "ada")
    assert browser.get(callback.replace("campus", "library")).status_code == 400
    callback = campus.answer(browser.get("/login/with/campus").location, "ada")
    query = f"{callback}&iss={library.issuer}"
    assert browser.get(query).status_code == 403
    campus.change(names_issuer=True)
    forget_metadata(arena)
    callback = campus.answer(browser.get("/login/with/campus").location, "ada")
    assert browser.get(callback).status_code == 403, "The issuer is missing (RFC 9207)."
    campus.change(names_issuer=False)
    forget_metadata(arena)
    # The same subject at two issuers belongs to two people.
    sign_up_with(arena, campus, browser, "ada")
    sign_up_with(arena, library, arena.app.test_client(), "ada", name="Ada of the library")
    assert len(names(arena)) == 2


@pytest.mark.parametrize(
    ("policy", "accounts", "may_sign_up"),
    [
        ("open", None, True),
        ("invite", None, False),
        ("closed", None, False),
        ("closed", "open", True),
        ("open", "invite", False),
        ("open", "closed", False),
    ],
)
def test_new_accounts_follow_the_policy(make_arena, campus, policy, accounts, may_sign_up):
    table = campus.table(**({"accounts": accounts} if accounts else {}))
    arena = make_arena(oidc_providers=table, sign_up=policy)
    answer = log_in_with(campus, arena.app.test_client(), "ada")
    assert answer.status_code == (303 if may_sign_up else 403)
    with arena.database.read() as session:
        assert bool(session.scalars(select(Identity)).all()) is may_sign_up


def test_only_verified_addresses_of_allowed_domains_may_log_in(make_arena, campus):
    arena = make_arena(oidc_providers=campus.table(allowed_domains=["Example.org"]))
    assert sign_up_with(arena, campus, arena.app.test_client(), "ada").status_code == 302
    for person in ("bob", "eve"):
        answer = log_in_with(campus, arena.app.test_client(), person)
        assert (answer.status_code, "Only @example.org may log in" in answer.text) == (403, True)
    campus.claims("ada", email_verified=False)
    assert log_in_with(campus, arena.app.test_client(), "ada").status_code == 403


def test_without_password_login_only_the_rescue_administrator_uses_one(make_arena, campus):
    arena = make_arena(oidc_providers=campus.table())
    root, ann = arena.person("Root", is_admin=True), arena.person("Ann")
    turn_off_passwords(arena)
    browser = arena.app.test_client()
    assert 'name="password"' not in browser.get("/login").text
    assert 'name="password"' in browser.get("/login?rescue=1").text
    assert arena.log_in(browser, "Ann").status_code == 422
    assert arena.log_in(browser, "Root").status_code == 302
    assert arena.app.test_client().get("/reset").status_code == 404
    new = {"current_password": PASSWORD, "new_password": f"{PASSWORD} and more"}
    path = f"/reset/{reset_link(arena, ann)}"
    assert "is turned off" in arena.app.test_client().get(path).text
    token = arena.form_token(browser)
    assert browser.post(path, data={"csrf_token": token, "password": new["new_password"]}).status_code == 403
    assert ann.post("/account/password", new).status_code == 403
    assert 'name="new_password"' not in ann.browser.get("/account").text
    reset = f"/api/v1/people/{ann.user.id}/reset-link"
    assert arena.app.test_client().post(reset, headers=root.bearer).json["error"] == "passwords_off"
    assert root.post("/account/password", new | {"new_password": PASSWORD}).status_code == 303
    form = {"csrf_token": arena.form_token(browser), "name": "Mallory", "password": PASSWORD}
    assert browser.post("/sign-up", data=form).location.startswith("/login")
    assert arena.app.test_client().get("/api/v1/me", headers=ann.bearer).status_code == 200
    assert (names(arena), who(root.browser)) == (["Root", "Ann"], "Root")


def test_a_recent_login_confirms_an_account_without_a_password(arena, campus):
    browser = arena.app.test_client()
    sign_up_with(arena, campus, browser, "ada")
    ada = Person(arena, account(arena, "ada"), browser, "")
    with arena.database.write() as session:
        session.scalars(select(Login)).one().created_at -= timedelta(minutes=11)
    new = {"new_password": PASSWORD}
    answer = ada.post("/account/password", new)
    assert (answer.status_code, "does not use a password" in answer.text) == (422, True)
    assert ada.post("/account/delete").status_code == 422
    log_in_with(campus, browser, "ada")
    assert ada.post("/account/password", new).status_code == 303
    assert arena.log_in(arena.app.test_client(), "ada").status_code == 302
    assert ada.post("/account/delete", {"current_password": PASSWORD}).status_code == 302
    with arena.database.read() as session:
        assert session.scalars(select(Identity)).all() == []


def test_logout_offers_the_logout_of_the_provider(arena, campus):
    browser = arena.app.test_client()
    sign_up_with(arena, campus, browser, "ada")
    ada = Person(arena, account(arena, "ada"), browser, "")
    assert ada.post("/logout").location == "/logged-out/campus"
    assert who(browser) is None
    page = browser.get("/logged-out/campus").text
    assert re.search(rf'href="{campus.issuer}/logout/\?client_id=[^"]+post_logout_redirect_uri=[^"]+"', page)
    campus.change(down=True)
    forget_metadata(arena)
    assert browser.get("/logged-out/campus").location == "/"


def test_a_login_through_a_provider_needs_the_second_factor_and_stays_the_providers(make_arena, campus):
    arena = make_arena(
        oidc_providers=campus.table(session_hours=8, admin_claim="role", admin_value="admin"),
        require_second_factor="administrators",
    )
    campus.claims("ada", role="admin")
    browser, other = arena.app.test_client(), arena.app.test_client()
    assert sign_up_with(arena, campus, browser, "ada", next="/people").location == "/people"
    factors, step = "/account/second-factors", "/login/second-factor"
    assert browser.get("/people").location == f"{factors}?next=/people"
    ada = Person(arena, account(arena, "ada"), browser, "")
    with arena.database.write() as session:
        session.scalars(select(Login)).one().created_at -= timedelta(hours=1)
    assert "log in again" in ada.post(f"{factors}/unlock").text, "The login is the confirmation."
    assert ada.post("/logout").location == "/logged-out/campus"
    log_in_with(campus, browser, "ada")
    assert ada.post(f"{factors}/unlock").status_code == 302
    secret = secret_in(browser.get(factors).text)
    assert ada.post(factors, {"code": code_at(secret, arena.now(), steps=-1)}).status_code == 201

    assert log_in_with(campus, other, "ada", next="/people").location == step
    assert (who(other), other.get("/people").status_code) == (None, 302)
    form = {"csrf_token": arena.form_token(other)}
    assert other.post(step, data=form | {"code": "000000"}).status_code == 422
    assert other.post(step, data=form | {"code": code_at(secret, arena.now())}).location == "/people"
    with arena.database.read() as session:
        login = session.scalars(select(Login).order_by(Login.id.desc())).first()
        assert (login.provider, login.expires_at - login.created_at) == ("campus", timedelta(hours=8))
    assert Person(arena, ada.user, other, "").post("/logout").location == "/logged-out/campus"


def test_unlinking_ends_a_login_that_waits_for_a_second_factor(arena, campus):
    root, ann = arena.person("Root", is_admin=True), arena.person("Ann")
    link(arena, ann, campus, "ada")
    with arena.database.write() as session:
        factor = {"kind": FactorKind.APP, "name": "App", "key_id": "a", "counter": 0}
        session.add(SecondFactor(user_id=ann.user.id, created_at=arena.now(), **factor))
    browser = arena.app.test_client()
    assert log_in_with(campus, browser, "ada").location == "/login/second-factor"
    assert browser.get("/login/second-factor").status_code == 200
    root.confirm(f"/people/{ann.user.id}/identities/{identity(arena, 'Ann').id}/unlink")
    assert browser.get("/login/second-factor").status_code == 302
