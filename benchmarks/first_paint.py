"""Benchmark of first paint and layout shift on the five main pages.

Run ``python benchmarks/first_paint.py``, which requires Chromium. A thread serves a competition with 15 teams
from a temporary folder. Each page is opened in a new context without a cache, alternating with a static page.
Other load on the machine slows both down, so the ratio shows the cost of the page itself.
"""

import argparse
import logging
import shutil
import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from flask import Flask
from playwright.sync_api import Browser, sync_playwright
from werkzeug.serving import make_server

from grader.db import Database
from grader.maintenance import schema
from grader.services.competitions import lookup
from tests.fixtures import crowds
from tests.fixtures.arena import Arena, Person
from webapp.presentation.assets import static_url

TEAMS, FILES_OF_EACH = 15, 6
HERE = "/competitions/toxicity"
STATIC = "/static-page"
SIZES = {"desk": (1280, 800), "phone": (390, 844)}
OBSERVER = """
window.shift = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shift += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def add_static_page(app: Flask) -> None:
    """Add a page that uses the site's style sheet but not the database."""

    def page() -> str:
        return f'<!doctype html><link rel="stylesheet" href="{static_url("fairboard.css")}"><p>Hello, world!'

    app.add_url_rule(STATIC, "static_page", page)


@contextmanager
def site(folder: Path) -> Iterator[tuple[str, Person, int]]:
    """Serve a site with data; yield its address, a team member, and their newest submission."""
    template, home = folder / "template.db", folder / "site"
    home.mkdir()
    database = Database(f"sqlite:///{template}")
    schema.upgrade(database)
    database.dispose()
    arena = Arena(home, template)
    add_static_page(arena.app)
    now = arena.now()
    start = now - timedelta(days=30)
    arena.competition(opens_at=start, closes_at=now + timedelta(days=20))
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        crowds.fill(
            session, competition=competition, teams=TEAMS, files=TEAMS * FILES_OF_EACH, start=start, end=now
        )
    ann = arena.person("Ann")
    newest = [arena.submit(ann, arena.truth.predictions(noise=noise)) for noise in (2.2, 1.9, 1.7)][-1]
    arena.score_all()
    server = make_server("127.0.0.1", 0, arena.app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.port}", ann, newest
    server.shutdown()
    thread.join()
    server.server_close()
    arena.close()


def opened(browser: Browser, address: str, path: str, cookie: str, size: str) -> tuple[float, float]:
    """Return an uncached page's first contentful paint, in milliseconds, and its layout shift."""
    width, height = SIZES[size]
    context = browser.new_context(
        base_url=address, viewport={"width": width, "height": height}, timezone_id="Asia/Kolkata"
    )
    context.add_cookies([{"name": "fairboard_login", "value": cookie, "url": address}])
    context.add_init_script(OBSERVER)
    page = context.new_page()
    page.goto(path, wait_until="networkidle")
    page.wait_for_function(f"{PAINT} !== null")
    found = float(page.evaluate(PAINT)), float(page.evaluate("window.shift"))
    context.close()
    return found


def measure(browser: Browser, address: str, ann: Person, newest: int, times: int) -> None:
    cookie = ann.browser.get_cookie("fairboard_login")
    assert cookie is not None
    pages = {
        "home": HERE,
        "leaderboard": f"{HERE}/leaderboard",
        "submissions": f"{HERE}/submissions",
        "submission": f"{HERE}/submissions/{newest}",
        "compare": f"{HERE}/submissions/compare",
    }
    print(f"{'':<20}{'first paint':>14}{'static page':>14}{'ratio':>8}{'shift':>9}")
    for size in SIZES:
        for name, path in pages.items():
            paints, references, shifts = [], [], []
            for _ in range(times):
                paint, shift = opened(browser, address, path, cookie.value, size)
                paints.append(paint)
                shifts.append(shift)
                references.append(opened(browser, address, STATIC, cookie.value, size)[0])
            mine, reference = statistics.median(paints), statistics.median(references)
            figures = f"{mine:>11.0f} ms{reference:>11.0f} ms{mine / reference:>8.2f}{max(shifts):>9.4f}"
            print(f"{f'{name}, {size}':<20}{figures}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=7, help="Number of times that each page is opened.")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    arguments = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=arguments.chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        with site(Path(folder)) as (address, ann, newest):
            measure(browser, address, ann, newest, arguments.times)
        browser.close()


if __name__ == "__main__":
    main()
