"""Accessibility and layout of all pages, at three widths and in both themes."""

from itertools import islice

import pytest

from tests.browser import visits
from tests.browser.looks import faults
from tests.fixtures.worlds import Truth

pytestmark = pytest.mark.browser
PAGES_AT_LEAST = 43
FIRST_PAGES = 12  # of the short run, each with elements that the earlier ones do not have
HEADER_HEIGHT = """[...document.querySelectorAll("header.site, section.banner")]
  .reduce((height, part) => height + part.getBoundingClientRect().height, 0)"""


@pytest.fixture(scope="module")
def known():
    """The elements of pages that were already checked in an earlier phase."""
    return set()


@pytest.fixture(params=["open", pytest.param("revealed", marks=pytest.mark.long)], scope="module")
def site(request, make_world, known):
    """A running, seeded test site, during its competition or after the reveal."""
    with visits.site(make_world(Truth.first()), request.param) as site:
        yield site
        known.update(*(visits.elements_of(html) for _, html in site.pages.values()))


@pytest.mark.parametrize("most", [FIRST_PAGES, pytest.param(None, marks=pytest.mark.long)])
def test_every_page_is_accessible_and_fits_320_px_with_a_short_header(site, browser, known, most):
    assert len(site.pages) >= PAGES_AT_LEAST
    found = []
    for page, path in islice(site.visits(browser, known=known), most):
        found += faults(page, path)
        page.set_viewport_size({"width": 320, "height": 568})
        too_wide = page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        found += [f"{path}: {too_wide} px too wide"] * (too_wide > 0)
        header = page.evaluate(HEADER_HEIGHT)
        found += [f"{path}: the header is {header} px high"] * (header > 120)
    assert not found, "\n".join(found)
