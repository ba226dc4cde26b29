"""The leaderboard in a frame of another site, and its JSON in that site's script."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from grader.models import Role
from tests.browser.looks import LOOKS, looks

pytestmark = pytest.mark.browser
HERE = "/competitions/toxicity"
LOAD = "async url => { try { return (await (await fetch(url)).json()) } catch { return null } }"


@pytest.fixture
def other_site() -> Iterator[tuple[str, dict[str, str]]]:
    """Another origin: its URL, and its pages by path."""
    pages: dict[str, str] = {}

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if self.path == "/isolated":
                self.send_header("Cross-Origin-Opener-Policy", "same-origin")
                self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            self.end_headers()
            self.wfile.write(pages.get(self.path, "").encode())

        def log_message(self, *args: object):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://localhost:{server.server_port}", pages
    server.shutdown()
    thread.join()
    server.server_close()


def test_foreign_page_frames_the_leaderboard_and_reads_its_json(
    live, browser: Browser, other_site: tuple[str, dict[str, str]], screens: Path
):
    live.competition(embeddable=True, title="Toxicity & <harm>")
    people = {name: live.person(name) for name in ("Ann", "Bob")}
    for seed, person in enumerate(people.values()):
        live.submit(person, live.truth.predictions(noise=1 + seed, seed=seed))
    live.score_all()
    live.give_role(people["Ann"], Role.OWNER)
    context = browser.new_context()
    cookie = people["Ann"].browser.get_cookie("fairboard_login").value
    context.add_cookies([{"name": "fairboard_login", "value": cookie, "url": live.address}])
    page = context.new_page()
    page.goto(f"{live.address}{HERE}/organize/settings/basics")
    page.get_by_text("Appearance").click()
    snippet = page.locator("code", has_text="<iframe").inner_text()
    site, pages = other_site
    pages["/"] = f"<h1>Our class</h1>{snippet}"
    pages["/isolated"] = pages["/"]
    pages["/board"] = f'<iframe src="{live.address}{HERE}/leaderboard"></iframe>'
    for path in ("/", "/isolated"):
        page.goto(site + path)
        frame = page.frame_locator("iframe")
        expect(frame.get_by_role("heading")).to_have_text("Toxicity & <harm>")
        expect(frame.get_by_role("row")).to_have_count(3)
        assert frame.locator("body").evaluate("element => getComputedStyle(element).paddingLeft") == "12px"
    with context.expect_page() as opened:
        frame.get_by_role("link", name="Full leaderboard").click()
    opened.value.wait_for_url(f"{live.address}{HERE}/leaderboard")
    found = page.evaluate(LOAD, f"{live.address}{HERE}/leaderboard/embed.json")
    assert [row["team"] for row in found["rows"]] == ["Ann", "Bob"]
    for path in (f"/api/v1{HERE}/leaderboard", f"{HERE}/leaderboard/version"):
        assert page.evaluate(LOAD, live.address + path) is None, path
    page.goto(f"{site}/board")
    expect(page.frame_locator("iframe").get_by_role("row")).to_have_count(0)
    page.goto(site)
    for look in looks(page, LOOKS):
        page.screenshot(path=screens / f"embedded-{look}.png")
    for theme in ("light", "dark"):
        page.goto(f"{live.address}{HERE}/leaderboard/embed.html?theme={theme}")
        shown = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert shown == {"light": "rgb(252, 251, 249)", "dark": "rgb(20, 24, 26)"}[theme]
    context.close()
