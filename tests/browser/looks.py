"""How a page looks on a desk and on a phone, in both themes: its pictures, and the faults that axe knows."""

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
# Themes differ in colours alone, so that each theme and each width is looked at once.
CHECKED = {"light-desk": ALL_RULES, "dark-phone": DARK_RULES}


def looks(page: Page, names: Iterable[str] = CHECKED) -> Iterator[str]:
    """Let a loaded page take each of these looks, and return their names."""
    for look in names:
        (width, height), scheme = LOOKS[look]
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        yield look


def draw(page: Page, address: str, folder: Path, name: str):
    """Take a picture of every look of a page."""
    page.goto(address)
    for look in looks(page, LOOKS):
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=True)


def faults(page: Page, address: str) -> list[str]:
    """Return what is wrong with a page in either theme and width, and what it complains about itself."""
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
    is_missing = answer is not None and answer.status == 404  # as a test wants it; the console says so
    return [f"{address}: {each}" for each in said if not (is_missing and "404" in each)]


def seen(page: Page, look: str) -> Iterator[str]:
    """Return what is wrong with a page in the look that it has."""
    too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if too_wide > 0:
        yield f"the page is {too_wide} px wider than the window"
    for violation in Axe().run(page, options=CHECKED[look]).response["violations"]:
        if violation["impact"] in MINDED:
            for node in violation["nodes"][:2]:
                yield f"{violation['id']}: {node['target']} {node.get('failureSummary')}"
