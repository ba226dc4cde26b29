"""Every page of the route list, on a desk and on a phone, in both themes, without a fault that axe knows."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import visits
from tests.browser.looks import faults
from tests.fixtures.worlds import Truth, World
from tests.fixtures.zones import unzoned

pytestmark = pytest.mark.browser
PAGES_AT_LEAST = 60
HEADER_HEIGHT = """[...document.querySelectorAll("header.site, section.banner")]
  .reduce((height, part) => height + part.getBoundingClientRect().height, 0)"""
# The texts of a page; a chart names its zone once, in words of its own.
VISIBLE_TEXTS = """() => {
  const untouched = "script, style, code, pre, textarea, time[data-form=left]";
  const read = "p, li, dd, dt, td, th, h1, h2, h3, label, legend, summary, option, small, span, time";
  const texts = [...document.body.querySelectorAll(read)]
    .filter((element) => !element.closest(untouched) && !element.querySelector(untouched));
  const charts = [...document.querySelectorAll("svg")].map((svg) => [...svg.querySelectorAll("text, title")])
    .filter((marks) => !marks.some((mark) => /^(UTC|GMT)/.test(mark.textContent)));
  return [...texts, ...charts.flat()].map((element) => element.textContent);
}"""


@pytest.fixture(params=visits.MOMENTS, scope="module")
def site(request: pytest.FixtureRequest, make_world: Callable[..., World]) -> Iterator[visits.Site]:
    """A world behind an address: while its competition is open, or after the reveal."""
    with visits.site(make_world(Truth.first()), request.param) as site:
        yield site


def test_every_page_is_clear_to_all(site: visits.Site, browser: Browser):
    found = [fault for page, path in site.visits(browser) for fault in faults(page, path)]
    assert len(site.pages) >= PAGES_AT_LEAST
    assert not found, "\n".join(found)


def test_at_320_px_no_page_overflows_the_header_is_short_and_local_times_name_their_zone(
    site: visits.Site, browser: Browser
):
    found = []
    options = {"timezone_id": "Asia/Kolkata", "viewport": {"width": 320, "height": 568}}
    for page, path in site.visits(browser, **options):
        page.goto(path)
        too_wide = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        found += [f"{path}: {too_wide} px too wide"] * (too_wide > 0)
        header = page.evaluate(HEADER_HEIGHT)
        found += [f"{path}: the header is {header} px high"] * (header > 120)
        found += [f"{path}: {time!r}" for text in page.evaluate(VISIBLE_TEXTS) for time in unzoned(text)]
    assert not found, "\n".join(found)
