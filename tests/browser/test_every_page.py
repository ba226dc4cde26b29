"""Every page of the route list, on a desk and on a phone, in both themes, without a fault that axe knows."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser
from werkzeug.serving import make_server

from tests.browser.looks import faults
from tests.fixtures.walks import addresses
from tests.fixtures.worlds import Truth, World

pytestmark = pytest.mark.browser
# Who looks: the first of them who gets the page. Ann is in a team, Edda organizes, Root is an administrator.
LOOKERS = ("Ann", "Edda", "Root", None)
MOMENTS = {"open": ("begin",), "revealed": ("close", "settle", "reveal")}
PAGES_AT_LEAST = 60


@dataclass(frozen=True)
class Site:
    """A world that browsers can visit, and who sees which of its pages."""

    world: World
    address: str
    pages: dict[str, str | None]


@pytest.fixture(scope="module")
def world(make_world: Callable[..., World]) -> World:
    return make_world(Truth.first())


@pytest.fixture(params=MOMENTS, scope="module")
def site(request: pytest.FixtureRequest, world: World) -> Iterator[Site]:
    """The world behind an address: while its competition is open, then after the reveal."""
    for happen in MOMENTS[request.param]:
        getattr(world, happen)()
    server = make_server("127.0.0.1", 0, world.arena.app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield Site(world, f"http://127.0.0.1:{server.port}", _pages(world))
    server.shutdown()
    thread.join()
    server.server_close()


def _pages(world: World) -> dict[str, str | None]:
    """Return the address of every page, with who looks at it."""
    found: dict[str, str | None] = {}
    with world.undone():
        for method, _, path in addresses(world.arena.app):
            for name in LOOKERS if method == "GET" and not path.startswith("/api/") else ():
                browser = world.people[name].browser if name else world.arena.app.test_client()
                answer = browser.get(path, headers={"Accept": "text/html"})
                is_page = answer.mimetype == "text/html" and "Content-Disposition" not in answer.headers
                if answer.status_code == 200 and is_page:
                    found[path] = name
                    break
    return found


def test_every_page_is_clear_to_all(site: Site, browser: Browser) -> None:
    found = []
    for name in LOOKERS:
        context = browser.new_context(base_url=site.address)
        if name and (cookie := site.world.people[name].browser.get_cookie("fairboard_login")):
            context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": site.address}])
        page = context.new_page()
        for path, looker in site.pages.items():
            if looker == name:
                found += faults(page, path)
        context.close()
    assert len(site.pages) >= PAGES_AT_LEAST
    assert not found, "\n".join(found)
