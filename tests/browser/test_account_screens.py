"""The pages of accounts on a site that sends mail, in both colour schemes and widths."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from grader.models import User
from grader.services.accounts import password_resets, sign_ups
from grader.worker.mailer import Mailer

pytestmark = pytest.mark.browser
PASSWORD = "correct horse battery"
WIDTHS = {"desk": 1280, "phone": 390}


@pytest.fixture
def arena(make_arena: Any, post: Any) -> Any:
    """A site that sends mail, whatever its address."""
    return make_arena(**post.settings | {"base_url": "http://localhost", "contact": "Grace Hopper, room 12"})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_account_pages_are_drawn_without_serious_faults(
    live: Any, browser: Browser, screens: Path, scheme: str
) -> None:
    ann = live.person("Ann")
    with live.database.write() as session:
        person = session.get_one(User, ann.user.id)
        person.is_admin, person.email, person.about = True, "ann@example.org", "I count things."
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
    members = {"account": "/account", "account-delete": "/account/delete", "people": "/people"}
    cookie = ann.browser.get_cookie("fairboard_login")
    faults = []
    for width, pixels in WIDTHS.items():
        context = browser.new_context(
            base_url=live.address,
            color_scheme=scheme,  # type: ignore[arg-type]
            viewport={"width": pixels, "height": 900},
        )
        page = context.new_page()
        for name, path in strangers.items():
            faults += _faults(page, path, screens / f"{name}-{scheme}-{width}.png")
        context.add_cookies([{"name": "fairboard_login", "value": cookie.value, "url": live.address}])
        for name, path in members.items():
            faults += _faults(page, path, screens / f"{name}-{scheme}-{width}.png")
        context.close()
    assert not faults, "\n".join(faults)


def _faults(page: Page, path: str, picture: Path) -> list[str]:
    page.goto(path)
    if "FAIRBOARD_TEST_SCREENS" in os.environ:
        page.screenshot(path=picture, full_page=True)
    said = []
    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if too_wide > 0:
        said.append(f"the page is {too_wide} px wider than the window")
    for violation in Axe().run(page).response["violations"]:
        if violation["impact"] in ("serious", "critical"):
            node = violation["nodes"][0]
            said.append(f"{violation['id']}: {node['target']} {node.get('failureSummary')}")
    return [f"{picture.stem}: {each}" for each in said]


def test_somebody_signs_up_by_mail_and_makes_a_token(live: Any, page: Page, post: Any) -> None:
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
    page.get_by_role("link", name="Ada").click()
    page.get_by_label("Token name").fill("laptop")
    page.get_by_label("Permissions").select_option("read")
    page.get_by_role("button", name="Create token").click()
    page.get_by_text("it is not shown again").wait_for()
    assert page.get_by_role("row", name="laptop").get_by_text("read", exact=True).is_visible()
