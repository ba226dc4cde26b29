"""Confirmation of a rescoring's publication in a browser, with and without JavaScript."""

import pytest
from playwright.sync_api import expect

from tests.browser.looks import looks, seen
from tests.webapp.rescoring.test_pages import ROOT, begin, check, people

__all__ = ["check", "people"]

pytestmark = pytest.mark.browser
NOTICE = 'We mended sixty labels.\n\n"Sorry" & thank you.'


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_rescoring_is_published_after_confirmation(people, check, live, browser, scripts):
    begin(people, check())
    live.score_all()
    cookie = people["Eva"].browser.get_cookie("fairboard_login").value
    context = browser.new_context(base_url=live.address, java_script_enabled=scripts)
    context.add_cookies([{"name": "fairboard_login", "value": cookie, "url": live.address}])
    page = context.new_page()
    _ask(page)
    for look in looks(page) if scripts else ():
        assert not list(seen(page, look))
    page.get_by_role("button", name="Go back and edit").click()
    expect(page.get_by_label("Message to participants")).to_have_value(NOTICE)
    assert "ready" in page.locator("#state").inner_text()
    page.get_by_role("button", name="Publish scoring version 2").click()
    expect(page.get_by_role("heading", name="Publish scoring version 2?")).to_be_visible()
    page.get_by_role("button", name="Publish scoring version 2").click()
    expect(page.locator("main")).to_contain_text("All leaderboards now use scoring version 2.")
    expect(page.locator("main")).to_contain_text("Sorry")
    context.close()


def _ask(page):
    page.goto(f"{ROOT}/rescoring/2")
    page.get_by_label("Message to participants").fill(NOTICE)
    page.get_by_role("button", name="Publish scoring version 2").click()
    expect(page.get_by_role("heading", name="Publish scoring version 2?")).to_be_visible()
    expect(page.locator("main")).to_contain_text("2 of 2 submissions get a different displayed score")
