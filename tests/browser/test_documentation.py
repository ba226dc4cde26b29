"""The documentation in both colour schemes, on a desk and on a phone, without a fault that axe knows."""

from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
CHAPTERS = ("", "/participants", "/scoring", "/bias-metrics", "/glossary", "/reference")
PAGES = (*CHAPTERS, "/search?q=bpsn+auc", "/search?q=zzz")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_chapters_are_drawn_without_fault(
    live: Any, browser: Browser, screens: Path, scheme: Any, width: int
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    for place in PAGES:
        page.goto(f"{live.address}/docs{place}")
        name = "".join(letter if letter.isalnum() else "-" for letter in place) or "-index"
        page.screenshot(path=screens / f"docs{name}-{scheme}-{width}.png", full_page=place == "")
        found = Axe().run(page).response["violations"]
        serious = [each for each in found if each["impact"] in ("moderate", "serious", "critical")]
        assert [(place, each["id"], each["nodes"][0]["html"]) for each in serious] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
    assert complaints == []
    context.close()
