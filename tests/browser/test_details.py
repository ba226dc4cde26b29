"""Links and notes of submissions in a browser."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.looks import LOOKS, looks

pytestmark = [pytest.mark.browser, pytest.mark.long]
HERE = "/competitions/toxicity"
FIELDS = "Paper: link\nCode: link, required\nExternal data: text\nModel size (parameters): number"


@pytest.fixture
def ann(live, browser: Browser):
    """A page for Ann, whose team has a scored submission."""
    live.competition(entry_fields=FIELDS)
    person = live.person("Ann")
    live.submit(person, live.truth.predictions())
    live.score_all()
    context = browser.new_context(base_url=live.address)
    cookie = person.browser.get_cookie("fairboard_login")
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live.address}])
    yield context.new_page()
    context.close()


def test_a_team_adds_links_that_a_leaderboard_row_shows_without_a_wider_page(ann: Page, screens):
    ann.goto(f"{HERE}/submissions")
    ann.get_by_role("link", name="Add the required links and notes").click()
    expect(ann.get_by_label("Code")).to_be_visible()
    ann.screenshot(path=screens / "details-form.png", full_page=True)
    ann.get_by_label("Code").fill("https://example.org/code")
    ann.get_by_label("Paper").fill("https://example.org/paper")
    ann.get_by_label("External data").fill("Wikipedia comments, " * 9)
    ann.get_by_label("Model size").fill("7e9")
    ann.get_by_role("button", name="Save links and notes").click()
    ann.goto(f"{HERE}/leaderboard")
    row = ann.locator(".standings tbody tr").first
    expect(row.get_by_role("link", name="Code")).to_have_attribute("href", "https://example.org/code")
    for look in looks(ann, LOOKS):
        ann.screenshot(path=screens / f"details-leaderboard-{look}.png", full_page=True)
        assert ann.evaluate("document.documentElement.scrollWidth <= innerWidth"), look
    ann.goto(f"{HERE}/submissions")
    ann.screenshot(path=screens / "details-own-files.png", full_page=True)
