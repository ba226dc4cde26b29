"""The question before a rescoring is published, in a browser, with and without scripts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_screens import SCHEMES, WIDTHS, pytestmark
from tests.webapp.rescoring.test_pages import ROOT, begin, check, people

__all__ = ["check", "people", "pytestmark"]

NOTICE = 'We mended sixty labels.\n\n"Sorry" & thank you.'


def test_a_rescoring_is_published_by_the_answer_to_its_question(
    people: dict[str, Any], check: Callable[..., int], live: Any, browser: Browser, screens: Path
) -> None:
    begin(people, check())
    live.score_all()
    cookie = people["Eva"].browser.get_cookie("fairboard_login").value
    for scheme in SCHEMES:
        for width, pixels in WIDTHS.items():
            context = browser.new_context(
                base_url=live.address,
                color_scheme=scheme,  # type: ignore[arg-type]
                viewport={"width": pixels, "height": 900},
                java_script_enabled=width == "desk",
            )
            context.add_cookies([{"name": "fairboard_login", "value": cookie, "url": live.address}])
            page = context.new_page()
            _ask(page)
            page.screenshot(path=screens / f"question-{scheme}-{width}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= pixels
            if width == "desk":
                found = Axe().run(page).response["violations"]
                assert not [each for each in found if each["impact"] in ("serious", "critical")]
                with context.expect_page() as opened:  # the question stays where it is
                    page.get_by_role("link", name="Full difference").click()
                expect(opened.value.get_by_role("heading", level=1)).to_be_visible()
            page.get_by_role("button", name="Edit what I entered").click()
            expect(page.get_by_label("Message to participants")).to_have_value(NOTICE)
            assert "preparing" in page.locator("main").inner_text()
            page.get_by_role("button", name="Publish scoring version 2").click()
            expect(page.get_by_role("heading", name="Publish scoring version 2?")).to_be_visible()
    page.get_by_role("button", name="Publish scoring version 2").click()
    expect(page.locator("main")).to_contain_text("All leaderboards now use scoring version 2.")
    expect(page.locator("main")).to_contain_text("Sorry")
    page.screenshot(path=screens / "published.png", full_page=True)
    context.close()


def _ask(page: Page) -> None:
    page.goto(f"{ROOT}/rescoring/2")
    page.get_by_label("Message to participants").fill(NOTICE)
    page.get_by_role("button", name="Publish scoring version 2").click()
    expect(page.get_by_role("heading", name="Publish scoring version 2?")).to_be_visible()
    expect(page.locator("main")).to_contain_text("2 of 2 submissions get a different displayed score")
