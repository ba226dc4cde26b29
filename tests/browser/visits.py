"""Seeded test sites, and a user with access to each page in the route manifest."""

import re
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Page
from werkzeug.serving import make_server

from tests.fixtures.arena import without_form_tokens
from tests.fixtures.walks import addresses
from tests.fixtures.worlds import World

# Users in the order in which they try a page. Ann is in a team, Edda organizes, Root is an administrator.
LOOKERS = ("Ann", "Edda", "Root", None)
MOMENTS = {"open": ("begin",), "revealed": ("begin", "close", "settle", "reveal")}


@dataclass(frozen=True)
class Site:
    """A running, seeded test site and the user for each of its pages."""

    moment: str
    world: World
    address: str
    pages: dict[str, tuple[str | None, str]]
    """For each path, the user who sees the page, and the page's HTML without form tokens."""

    def visits(
        self, browser: Browser, *, known: Collection[tuple[str, str]] = (), **options
    ) -> Iterator[tuple[Page, str]]:
        """Yield each page with new elements or classes, opened as a user who may see it, and its path."""
        seen = set(known)
        for name in LOOKERS:
            context = browser.new_context(base_url=self.address, **options)
            if name and (cookie := self.world.people[name].browser.get_cookie("fairboard_login")):
                context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": self.address}])
            page = context.new_page()
            for path, (looker, html) in self.pages.items():
                if looker == name and not (elements := elements_of(html)) <= seen:
                    seen |= elements
                    yield page, path
            context.close()


def elements_of(html: str) -> set[tuple[str, str]]:
    """Return the different elements of a page with their classes."""
    return set(re.findall(r"<(\w+)(?:[^>]*? class=\"([^\"]*)\")?", html))


@contextmanager
def site(world: World, moment: str) -> Iterator[Site]:
    """Run a new seeded test site up to a phase of its competition and serve it."""
    for happen in MOMENTS[moment]:
        getattr(world, happen)()
    server = make_server("127.0.0.1", 0, world.arena.app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield Site(moment, world, f"http://127.0.0.1:{server.port}", pages(world))
    server.shutdown()
    thread.join()
    server.server_close()


def pages(world: World) -> dict[str, tuple[str | None, str]]:
    """Return the user and the HTML of every page, by path."""
    found: dict[str, tuple[str | None, str]] = {}
    with world.undone():
        for method, _, path in addresses(world.arena.app):
            for name in LOOKERS if method == "GET" and not path.startswith("/api/") else ():
                browser = world.people[name].browser if name else world.arena.app.test_client()
                answer = browser.get(path, headers={"Accept": "text/html"})
                is_page = answer.mimetype == "text/html" and "Content-Disposition" not in answer.headers
                if answer.status_code == 200 and is_page:
                    found[path] = name, without_form_tokens(answer.text)
                    break
    return found
