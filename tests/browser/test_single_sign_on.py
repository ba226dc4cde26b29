"""Single sign-on in Chromium, with oidc-provider from npm, and the pages that belong to it."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import select

from grader.models import Identity, User
from tests.browser.looks import faults
from tests.fixtures.arena import Arena
from tests.fixtures.identity_providers import NodeProvider

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"


@pytest.fixture
def arena(make_arena: Callable[..., Arena], lab: NodeProvider) -> Arena:
    return make_arena(oidc_providers=lab.table())


@pytest.fixture
def site(live, lab: NodeProvider):
    lab.start(live.address)
    return live


def log_in_at_the_lab(page: Page, name: str):
    page.get_by_placeholder("Enter any login").fill(name)
    page.get_by_placeholder("and password").fill("any")
    page.get_by_role("button", name="Sign-in").click()
    page.get_by_role("button", name="Continue").click()


def test_a_person_signs_up_joins_a_competition_and_logs_out_everywhere(site, page: Page, lab):
    site.competition(rules="Be fair.")
    page.goto(f"{site.address}/competitions/toxicity/join")
    page.get_by_role("main").get_by_role("link", name="Log in").click()
    page.get_by_role("link", name="Continue with Lab").click()
    log_in_at_the_lab(page, "grace")
    page.get_by_label("Name").fill("Grace")
    page.get_by_role("button", name="Create account").click()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Join").click()
    page.wait_for_url("**/submissions")
    page.goto(f"{site.address}/account")
    page.get_by_role("button", name="Log out", exact=True).first.click()
    page.get_by_role("link", name="Log out of Lab").click()
    page.get_by_role("button", name=re.compile("Yes, sign me out")).click()
    page.wait_for_url(f"{site.address}/")


def test_a_user_links_the_lab_and_logs_in_with_it(site, browser: Browser):
    ann = site.person("Ann")
    cookie = ann.browser.get_cookie("fairboard_login")
    context = browser.new_context(base_url=site.address)
    context.add_cookies([{"name": "fairboard_login", "value": cookie.value, "url": site.address}])
    page = context.new_page()
    page.goto("/account#identities")
    section = page.locator("#identities")
    section.get_by_label("Your password").fill(PASSWORD)
    section.get_by_role("button", name="Link Lab").click()
    page.get_by_role("link", name="Continue with Lab").click()
    log_in_at_the_lab(page, "ann")
    page.get_by_text("You can now log in with Lab.").wait_for()
    context.clear_cookies(name="fairboard_login")
    page.goto("/login")
    page.get_by_role("link", name="Continue with Lab").click()
    page.wait_for_url(f"{site.address}/")
    page.goto("/account")
    page.get_by_role("heading", name="Ann").wait_for()
    context.close()


def test_single_sign_on_pages_are_accessible(site, browser: Browser, lab):
    ann = site.person("Ann", is_admin=True)
    with site.database.write() as session:
        person = session.scalars(select(User)).one()
        moment = site.now()
        session.add(
            Identity(
                user=person, provider="lab", issuer=lab.issuer, subject="ann", email="ann@example.org",
                linked_at=moment, last_login_at=moment,
            )
        )  # fmt: skip
    cookie = ann.browser.get_cookie("fairboard_login")
    context = browser.new_context(base_url=site.address)
    page = context.new_page()
    found = [fault for path in ("/login", "/logged-out/lab") for fault in faults(page, path)]
    page.goto("/login/with/lab")
    log_in_at_the_lab(page, "new")
    page.get_by_role("heading", name="Choose your name").wait_for()
    found += faults(page, "/sign-up/with/lab")
    context.add_cookies([{"name": "fairboard_login", "value": cookie.value, "url": site.address}])
    found += [fault for path in ("/account", "/people") for fault in faults(page, path)]
    context.close()
    assert not found, "\n".join(found)
