"""Desktop and phone views in both themes: axe violations and layout errors."""

from collections.abc import Iterator
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

MINDED = ("moderate", "serious", "critical")
ALL_RULES = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
DARK_RULES = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["color-contrast", "target-size"]},
}
# Themes differ only in their colors, so each theme and each width needs only one check.
LOOKS: dict[Literal["light", "dark"], tuple[tuple[int, int], dict[str, Any]]] = {
    "light": ((1280, 800), ALL_RULES),
    "dark": ((390, 844), DARK_RULES),
}


def looks(page: Page) -> Iterator[Literal["light", "dark"]]:
    """Switch a loaded page to each view and yield the view's name."""
    for scheme, ((width, height), _) in LOOKS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        yield scheme


def faults(page: Page, address: str) -> list[str]:
    """Return a page's accessibility violations, layout errors and console messages."""
    said: list[str] = []

    def hear(message: object):
        if getattr(message, "type", "error") in ("error", "warning"):
            said.append(getattr(message, "text", str(message)))

    page.on("console", hear)
    page.on("pageerror", hear)
    answer = page.goto(address)
    for look in looks(page):
        said += [f"{look}: {fault}" for fault in seen(page, look)]
    page.remove_listener("console", hear)
    page.remove_listener("pageerror", hear)
    # The console reports a 404 even if the test expects it.
    is_missing = answer is not None and answer.status == 404
    return [f"{address}: {each}" for each in said if not (is_missing and "404" in each)]


def seen(page: Page, look: Literal["light", "dark"]) -> Iterator[str]:
    """Yield the accessibility and layout errors of a page in its current view."""
    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if too_wide > 0:
        yield f"the page is {too_wide} px wider than the window"
    ticking = ":is([role=status], [role=alert], [aria-live]) time:is([data-form=left], [data-form=ago])"
    for selector in (ticking, "time[tabindex]"):
        if count := page.locator(selector).count():
            yield f"{count} elements match {selector}"
    for violation in Axe().run(page, options=LOOKS[look][1]).response["violations"]:
        if violation["impact"] in MINDED:
            for node in violation["nodes"][:2]:
                yield f"{violation['id']}: {node['target']} {node.get('failureSummary')}"
