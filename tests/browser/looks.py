"""Desktop and phone views in both themes: screenshots and axe violations."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

MINDED = ("moderate", "serious", "critical")
ALL_RULES = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}
DARK_RULES = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["color-contrast", "target-size"]},
}
DESK, PHONE = (1280, 800), (390, 844)
LOOKS: dict[str, tuple[tuple[int, int], Literal["light", "dark"]]] = {
    "light-desk": (DESK, "light"),
    "dark-desk": (DESK, "dark"),
    "dark-phone": (PHONE, "dark"),
    "light-phone": (PHONE, "light"),
}
# Themes differ only in their colors, so each theme and each width needs only one check.
CHECKED = {"light-desk": ALL_RULES, "dark-phone": DARK_RULES}


def looks(page: Page, names: Iterable[str] = CHECKED) -> Iterator[str]:
    """Switch a loaded page to each view and yield the view's name."""
    for look in names:
        (width, height), scheme = LOOKS[look]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        yield look


def draw(page: Page, address: str, folder: Path, name: str):
    """Take a screenshot of every view of a page."""
    page.goto(address)
    for look in looks(page, LOOKS):
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)


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


def seen(page: Page, look: str) -> Iterator[str]:
    """Yield the accessibility and layout errors of a page in its current view."""
    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if too_wide > 0:
        yield f"the page is {too_wide} px wider than the window"
    for violation in Axe().run(page, options=CHECKED[look]).response["violations"]:
        if violation["impact"] in MINDED:
            for node in violation["nodes"][:2]:
                yield f"{violation['id']}: {node['target']} {node.get('failureSummary')}"
