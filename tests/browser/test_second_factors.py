"""Passkeys and authenticator apps in Chromium, with its virtual authenticator."""

import pytest

from tests.browser.looks import faults
from tests.fixtures.arena import PASSWORD
from tests.fixtures.authenticators import code_at, secret_in

pytestmark = pytest.mark.browser
AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
}


@pytest.fixture
def address(live):
    """The site's URL with a host name, because passkeys are not bound to IP addresses."""
    return live.address.replace("127.0.0.1", "localhost")


def log_in(page, address):
    page.goto(f"{address}/login?next=/account")
    page.get_by_label("Name").fill("Ann")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()


def unlock(page, address):
    page.goto(f"{address}/account/second-factors")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()


def test_a_passkey_is_added_and_then_logs_in(live, address, page):
    live.person("Ann")
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    added = devices.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    log_in(page, address)
    unlock(page, address)
    page.locator("#passkey-name").fill("Laptop")
    page.get_by_role("button", name="Add passkey").click()
    page.get_by_text("Store these recovery codes now").wait_for()
    assert page.get_by_role("row", name="Laptop").is_visible()
    page.get_by_role("button", name="Add passkey").click()
    page.get_by_text("already has a passkey").wait_for()
    page.context.clear_cookies()
    log_in(page, address)
    page.get_by_role("button", name="Use a passkey").click()
    page.get_by_role("heading", name="Ann").wait_for()
    assert page.url == f"{address}/account"
    keys = devices.send("WebAuthn.getCredentials", added)["credentials"]
    assert [(key["rpId"], key["signCount"] > 1) for key in keys] == [("localhost", True)]


def test_the_pages_are_accessible(live, address, page):
    live.person("Ann")
    log_in(page, address)
    found = faults(page, f"{address}/account/second-factors")
    unlock(page, address)
    found += faults(page, f"{address}/account/second-factors")
    secret = secret_in(page.content())
    page.get_by_label("Code in the app").fill(code_at(secret, live.now(), steps=-1))
    page.get_by_role("button", name="Add app").click()
    found += faults(page, f"{address}/account/second-factors")
    page.context.clear_cookies()
    log_in(page, address)
    found += faults(page, f"{address}/login/second-factor")
    assert not found, "\n".join(found)
