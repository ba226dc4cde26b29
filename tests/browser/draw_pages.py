"""`make screenshots`: every page in the route manifest, during and after a competition."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import visits
from tests.browser.looks import draw
from tests.fixtures.worlds import Truth, World

pytestmark = pytest.mark.browser


def test_every_page(make_world: Callable[..., World], browser: Browser, screens: Path):
    """Take screenshots of every page during a competition and after its reveal."""
    for moment in visits.MOMENTS:
        folder = screens / moment
        folder.mkdir(exist_ok=True)
        with visits.site(make_world(Truth.first()), moment) as site:
            for page, path in site.visits(browser):
                draw(page, path, folder, re.sub(r"\W+", "-", path).strip("-") or "competitions")
