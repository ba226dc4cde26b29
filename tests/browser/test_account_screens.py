"""Account pages of a site with e-mail, at both widths and in both themes."""

import re

import pytest
from playwright.sync_api import Browser, Page

from grader.models import User
from grader.services.accounts import password_resets, sign_ups
from grader.worker.mailer import Mailer
from tests.browser.looks import faults

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture
def arena(make_arena, post):
    """A site that sends e-mail, with a fixed base URL and a contact."""
    return make_arena(**post.settings | {"base_url": "http://localhost", "contact": "Grace Hopper, room 12"})


def test_account_pages_are_accessible(live, browser: Browser):
    ann = live.person("Ann")
    with live.database.write() as session:
        person = session.get_one(User, ann.user.id)
        person.is_admin, person.email = True, "ann@example.org"
        reset = password_resets.create_link(session, user=person, created_by="tests", now=live.now())
        invitation = sign_ups.invite(session, created_by="tests", now=live.now())
    for place in range(3):
        live.person(f"Person {place}")
    strangers = {
        "login": "/login",
        "sign-up-mail": "/sign-up",
        "sign-up-link": f"/sign-up/{invitation}",
        "reset-ask": "/reset",
        "reset": f"/reset/{reset}",
    }
    members = {
        "account": "/account",
        "account-delete": "/account/delete",
        "people": "/people",
    }
    cookie = ann.browser.get_cookie("fairboard_login")
    context = browser.new_context(base_url=live.address)
    page = context.new_page()
    found = [fault for path in strangers.values() for fault in faults(page, path)]
    context.add_cookies([{"name": "fairboard_login", "value": cookie.value, "url": live.address}])
    found += [fault for path in members.values() for fault in faults(page, path)]
    context.close()
    assert not found, "\n".join(found)


def test_a_user_signs_up_by_mail_and_creates_a_token(live, page: Page, post):
    page.goto(f"{live.address}/sign-up")
    page.get_by_label("E-mail").fill("ada@example.org")
    page.get_by_role("button", name="Send link").click()
    page.get_by_role("heading", name="Check your e-mail").wait_for()
    Mailer(live.settings, live.database).send_waiting()
    path = re.findall(r"(/sign-up/\S+)", post.received[0].get_content())[0]
    page.goto(live.address + path)
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign up").click()
    page.locator("summary", has_text="Ada").click()
    page.get_by_role("link", name="Account").click()
    page.get_by_label("Token name").fill("laptop")
    page.get_by_label("Scopes").select_option("read")
    page.get_by_role("button", name="Create token").click()
    page.get_by_text("It will not be shown again").wait_for()
    assert page.get_by_role("row", name="laptop").get_by_text("read", exact=True).is_visible()
