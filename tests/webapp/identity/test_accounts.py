"""Account pages with and without e-mail: sign-up, tokens, logins, deletion."""

import re

import pytest
from argon2 import Parameters, PasswordHasher, extract_parameters

from grader.models import ApiToken, User
from grader.worker.mailer import Mailer

PASSWORD = "correct horse battery"
ADA = "ada@example.org"


@pytest.fixture
def mailing(make_arena, post):
    """A site that sends e-mail."""
    return make_arena(**post.settings | {"base_url": "http://localhost"})


def deliver(arena):
    return Mailer(arena.settings, arena.database).send_waiting()


def send(browser, arena, path, **form):
    token = arena.form_token(browser, "/login" if browser.get("/account").status_code == 302 else "/account")
    return browser.post(path, data={"csrf_token": token, **form})


def link_in(message):
    return re.findall(r"http://localhost(/\S+/\S+)", message.get_content())[0]


def admin(arena):
    return arena.person("Root", is_admin=True)


def own_email(arena, person):
    with arena.database.read() as session:
        found = session.get_one(User, person.user.id)
        return found.email if found.email_verified_at else None


def confirm(arena, post, person, address):
    person.post("/account/email", {"email": address, "current_password": PASSWORD})
    deliver(arena)
    path = link_in(post.to(address)[-1])
    assert "Confirm" in person.browser.get(path).text
    assert own_email(arena, person) != address  # Opening the link has no effect on its own.
    assert person.post(path).status_code == 302
    assert own_email(arena, person) == address


def test_sign_up_by_mail_confirms_the_address_and_opens_the_requested_page(mailing, post):
    browser, target = mailing.app.test_client(), "/competitions/new"
    assert f'href="/sign-up?next={target}"' in browser.get("/").text
    answer = send(browser, mailing, f"/sign-up?next={target}", email=ADA)
    assert "Check your e-mail" in answer.text
    assert deliver(mailing) == 1
    path, browser = link_in(post.to(ADA)[0]), mailing.app.test_client()  # another tab
    assert browser.get(path).status_code == 200
    assert send(browser, mailing, path, name="", password="short").status_code == 422
    assert send(browser, mailing, path, name="Ada", password=PASSWORD).location == target
    page = browser.get("/account").text
    assert ADA in page and "confirmed" in page
    assert mailing.app.test_client().get(path).status_code == 404


@pytest.fixture
def hashes(monkeypatch):
    """The cost parameters of all password hashes that are computed; hashing dominates the response time."""
    computed: list[Parameters] = []
    verify, compute = PasswordHasher.verify, PasswordHasher.hash

    def note_verified(hasher: PasswordHasher, stored, password) -> bool:
        computed.append(extract_parameters(stored))
        return verify(hasher, stored, password)

    def note_hashed(hasher: PasswordHasher, password, **options) -> str:
        stored = compute(hasher, password, **options)
        computed.append(extract_parameters(stored))
        return stored

    monkeypatch.setattr(PasswordHasher, "verify", note_verified)
    monkeypatch.setattr(PasswordHasher, "hash", note_hashed)
    return computed


@pytest.mark.parametrize("path", ["/sign-up", "/reset"])
def test_no_response_reveals_whether_an_address_has_an_account(mailing, post, path, hashes):
    confirm(mailing, post, mailing.person("Ada"), ADA)
    browser = mailing.app.test_client()
    costs, texts = dict[str, list[Parameters]](), dict[str, str]()
    for address in (ADA, "bob@example.org"):
        token = mailing.form_token(browser)
        hashes.clear()
        answer = browser.post(path, data={"csrf_token": token, "email": address})
        assert answer.status_code == 200
        texts[address], costs[address] = answer.text.replace(address, "…"), list(hashes)
    assert len(set(texts.values())) == 1
    assert costs[ADA] == costs["bob@example.org"]


def test_a_password_reset_by_mail_ends_all_sessions(mailing, post):
    ada = mailing.person("Ada")
    confirm(mailing, post, ada, ADA)
    browser, target = mailing.app.test_client(), "/competitions/new"
    assert f'href="/reset?next={target}"' in browser.get(f"/login?next={target}").text
    send(browser, mailing, f"/reset?next={target}", email=ADA.upper())
    deliver(mailing)
    path = link_in(post.received[-1])
    assert "Ada" in browser.get(path).text
    assert send(browser, mailing, path, password="short").status_code == 422
    assert send(browser, mailing, path, password="quite another one").location == f"/login?next={target}"
    assert ada.browser.get("/account").status_code == 302
    assert mailing.log_in(browser, "Ada").status_code == 422
    assert mailing.log_in(browser, "Ada", "quite another one").status_code == 302
    assert mailing.app.test_client().get(path).status_code == 404
    deliver(mailing)
    assert post.to(ADA)[-1]["Subject"] == "Your password was changed"


def test_without_mail_organizers_create_reset_links(arena):
    ada, root = arena.person("Ada"), admin(arena)
    ada.post("/account/email", {"email": ADA, "current_password": PASSWORD})
    assert ADA in root.browser.get("/people?q=ada").text
    page = root.post(f"/people/{ada.user.id}/reset-link")
    assert page.status_code == 201
    path = re.findall(r"http://localhost(/reset/[\w-]+)", page.text)[0]
    browser = arena.app.test_client()
    assert send(browser, arena, path, password="quite another one").status_code == 302
    assert arena.log_in(browser, "Ada", "quite another one").status_code == 302


def test_sign_up_by_invitation_requires_a_link(make_arena):
    arena = make_arena(sign_up="invite", contact="Grace")
    browser = arena.app.test_client()
    assert "By invitation" in browser.get("/sign-up").text
    assert send(browser, arena, "/sign-up", name="Eve", password=PASSWORD).status_code == 404
    page = admin(arena).post("/people/invitations").text
    path = re.findall(r"http://localhost(/sign-up/[\w-]+)", page)[0]
    assert send(browser, arena, path, name="Bob", password=PASSWORD).status_code == 302
    assert "Bob" in browser.get("/account").text
    assert arena.app.test_client().get(path).status_code == 404


def test_sessions_are_listed_and_ended_individually(arena):
    ada, other, bob = arena.person("Ada"), arena.app.test_client(), arena.person("Bob")
    firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    other.environ_base["HTTP_USER_AGENT"] = firefox
    arena.log_in(other, "Ada")
    page = ada.browser.get("/account").text
    assert "Firefox on Linux" in page and "(this session)" in page
    logins = {int(found) for found in re.findall(r"/account/logins/(\d+)/end", page)}
    row = next(row for row in page.split("<tr")[1:] if "(this session)" in row)
    own = int(re.findall(r"/account/logins/(\d+)/end", row)[0])
    (others,) = logins - {own}
    assert bob.post(f"/account/logins/{others}/end").status_code == 404
    assert ada.post(f"/account/logins/{others}/end").status_code == 303
    assert other.get("/account").status_code == 302
    assert ada.post(f"/account/logins/{own}/end").status_code == 302
    assert ada.browser.get("/account").status_code == 302


def test_a_token_has_the_chosen_scope_and_expires_after_its_lifetime(arena):
    ada, api = arena.person("Ada"), arena.app.test_client()
    page = ada.post("/tokens", {"name": "t", "scopes": "read", "days": "7"}).text
    bearer = {"Authorization": "Bearer " + re.findall(r"<code>(fb_[^<…]+)</code>", page)[0]}
    assert api.get("/api/v1/me", headers=bearer).json["token"]["scopes"] == ["read"]
    with arena.database.write() as session:
        token = session.query(ApiToken).order_by(ApiToken.id.desc()).first()
        assert (token.expires_at - token.created_at).days == 7
        token.expires_at = token.created_at
    assert api.get("/api/v1/competitions", headers=bearer).status_code == 401
    assert "expired" in ada.browser.get("/account").text


def test_deleting_an_account_requires_its_password(arena):
    ada = arena.person("Ada Lovelace")
    assert ada.post("/account/delete", {"current_password": "wrong"}).status_code == 422
    assert "cannot be undone" in ada.browser.get("/account/delete").text
    assert ada.post("/account/delete", {"current_password": PASSWORD}).status_code == 302
    assert "Account deleted." in ada.browser.get("/").text
    assert ada.browser.get("/account").status_code == 302
    assert arena.log_in(arena.app.test_client(), "Ada Lovelace").status_code == 422


@pytest.mark.parametrize("path", ["/reset", "/sign-up"])
def test_mails_to_one_address_are_rate_limited(make_arena, post, path):
    arena = make_arena(
        rate_limits=True, trusted_proxies=1, **post.settings | {"base_url": "http://localhost"}
    )
    browser = arena.app.test_client()
    token = arena.form_token(browser)
    statuses = [
        browser.post(
            path,
            data={"csrf_token": token, "email": ADA.upper() if place % 2 else ADA},
            headers={"X-Forwarded-For": f"10.0.0.{place}"},
        ).status_code
        for place in range(6)
    ]
    assert statuses == [200] * 5 + [429]
