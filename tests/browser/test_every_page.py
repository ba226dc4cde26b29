"""Accessibility, layout and time zones of all pages, at three widths and in both themes."""

from collections.abc import Callable, Iterator
from itertools import islice

import pytest
from playwright.sync_api import Browser

from tests.browser import visits
from tests.browser.looks import faults
from tests.fixtures.worlds import Truth, World
from tests.fixtures.zones import unzoned, unzoned_in

pytestmark = pytest.mark.browser
PAGES_AT_LEAST = 45
FIRST_PAGES = 12  # of the short run, each with elements that the earlier ones do not have
HEADER_HEIGHT = """[...document.querySelectorAll("header.site, section.banner")]
  .reduce((height, part) => height + part.getBoundingClientRect().height, 0)"""
# The visible texts of a page, except in charts, which name their time zone once.
VISIBLE_TEXTS = """() => {
  const untouched = "script, style, code, pre, textarea, time[data-form=left]";
  const read = "p, li, dd, dt, td, th, h1, h2, h3, label, legend, summary, option, small, span, time";
  const texts = [...document.body.querySelectorAll(read)]
    .filter((element) => !element.closest(untouched) && !element.querySelector(untouched));
  const charts = [...document.querySelectorAll("svg")].map((svg) => [...svg.querySelectorAll("text, title")])
    .filter((marks) => !marks.some((mark) => /^(UTC|GMT)/.test(mark.textContent)));
  return [...texts, ...charts.flat()].map((element) => element.textContent);
}"""


@pytest.fixture(scope="module")
def known() -> set[tuple[str, str]]:
    """The elements of pages that were already checked in an earlier phase."""
    return set()


@pytest.fixture(params=["open", pytest.param("revealed", marks=pytest.mark.long)], scope="module")
def site(
    request: pytest.FixtureRequest, make_world: Callable[..., World], known: set[tuple[str, str]]
) -> Iterator[visits.Site]:
    """A running, seeded test site, during its competition or after the reveal."""
    with visits.site(make_world(Truth.first()), request.param) as site:
        yield site
        known.update(*(visits.elements_of(html) for _, html in site.pages.values()))


@pytest.mark.parametrize("most", [FIRST_PAGES, pytest.param(None, marks=pytest.mark.long)])
def test_every_page_is_accessible_and_fits_320_px_with_a_short_header_and_named_time_zones(
    site: visits.Site, browser: Browser, known: set[tuple[str, str]], most: int | None
):
    assert len(site.pages) >= PAGES_AT_LEAST
    found = []
    for page, path in islice(site.visits(browser, known=known, timezone_id="Asia/Kolkata"), most):
        found += faults(page, path)
        page.set_viewport_size({"width": 320, "height": 568})
        too_wide = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        found += [f"{path}: {too_wide} px too wide"] * (too_wide > 0)
        header = page.evaluate(HEADER_HEIGHT)
        found += [f"{path}: the header is {header} px high"] * (header > 120)
        found += [f"{path}: {time!r}" for text in page.evaluate(VISIBLE_TEXTS) for time in unzoned(text)]
    assert not found, "\n".join(found)


def test_every_time_on_every_page_without_javascript_names_its_zone(site: visits.Site):
    found = {path: unzoned_in(html) for path, (_, html) in site.pages.items()}
    assert not {path: times for path, times in found.items() if times}


@pytest.mark.parametrize("text", ["14 Mar 23:58", "at 9:30 PM", "14:00 to 15:00", "closes 23:58:01."])
def test_a_time_without_its_zone_is_found(text: str):
    assert unzoned(text)


@pytest.mark.parametrize(
    "text", ["23:58 UTC", "9:30 PM GMT+5:30", "2026-03-14T23:58:00Z", "00:00 to 24:00 UTC"]
)
def test_a_time_with_its_zone_is_not_found(text: str):
    assert not unzoned(text)
