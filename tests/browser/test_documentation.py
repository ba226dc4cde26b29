"""Accessibility of the documentation on desktop and phone, in both themes."""

import pytest
from playwright.sync_api import Browser

from tests.browser.looks import faults

pytestmark = pytest.mark.browser
CHAPTERS = ("", "/participants", "/bias-metrics")  # A list, plain text, and formulas with figures and tables.


def test_the_chapters_are_accessible(live, browser: Browser):
    context = browser.new_context(base_url=live.address)
    page = context.new_page()
    found = [fault for place in CHAPTERS for fault in faults(page, f"/docs{place}")]
    context.close()
    assert not found, "\n".join(found)
