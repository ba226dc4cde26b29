"""Every page of the route list, on a desk and on a phone, in both themes, without a fault that axe knows."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import visits
from tests.browser.looks import faults
from tests.fixtures.worlds import Truth, World

pytestmark = pytest.mark.browser
PAGES_AT_LEAST = 60


@pytest.fixture(params=visits.MOMENTS, scope="module")
def site(request: pytest.FixtureRequest, make_world: Callable[..., World]) -> Iterator[visits.Site]:
    """A world behind an address: while its competition is open, or after the reveal."""
    with visits.site(make_world(Truth.first()), request.param) as site:
        yield site


def test_every_page_is_clear_to_all(site: visits.Site, browser: Browser) -> None:
    found = [fault for page, path in site.visits(browser) for fault in faults(page, path)]
    assert len(site.pages) >= PAGES_AT_LEAST
    assert not found, "\n".join(found)
