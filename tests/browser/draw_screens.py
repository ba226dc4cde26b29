"""`make screenshots`: pictures of the pages at both widths and themes, with 0, 1, 15 and 10,000 teams."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page

from grader.models import Role
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, organizers
from tests.browser.looks import draw
from tests.browser.test_screens import OVERVIEW, populate
from tests.fixtures import crowds

pytestmark = pytest.mark.browser
HERE = "/competitions/toxicity"
CROWDS = {"none": 0, "one": 1, "fifteen": 15, "ten-thousand": 10_000}
FILES_OF_EACH = 6
OF_A_CROWD = {
    "list": "/",
    "home": HERE,
    "leaderboard": f"{HERE}/leaderboard",
    "submissions": f"{HERE}/submissions",
    "console": f"{HERE}/organize",
    "teams": f"{HERE}/organize/teams",
}


@pytest.fixture
def screens() -> Path:
    """Where the pictures go; FAIRBOARD_SCREENS names it."""
    folder = Path(os.environ.get("FAIRBOARD_SCREENS", "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _page_of(live: Any, browser: Browser, person: Any) -> Page:
    context = browser.new_context(base_url=live.address)
    if person:
        cookie = person.browser.get_cookie("fairboard_login")
        context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live.address}])
    return context.new_page()


@pytest.mark.parametrize("crowd", CROWDS)
def test_a_crowd(live: Any, browser: Browser, screens: Path, crowd: str) -> None:
    """Draw the pages that change with the number of teams, for a member and for an organizer."""
    now, teams = live.now(), CROWDS[crowd]
    start = now - timedelta(days=30)
    live.competition(
        title="Unintended bias in toxicity",
        overview=OVERVIEW,
        opens_at=start,
        closes_at=now + timedelta(days=20, hours=3),
    )
    ann, edda = live.person("Ann"), live.person("Edda")
    if teams:
        with live.database.write() as session:
            competition = lookup.get(session, slug="toxicity")
            crowds.fill(
                session,
                competition=competition,
                teams=teams,
                files=teams * FILES_OF_EACH,
                start=start,
                end=now,
            )
        for seed in range(3):
            live.submit(ann, live.truth.predictions(noise=2 - 0.4 * seed, seed=seed))
        live.score_all()
    with live.database.write() as session:
        organizers.add(
            session,
            competition=lookup.get(session, slug="toxicity"),
            user=edda.user,
            role=Role.OWNER,
            actor=Actor(None, "tests"),
            now=now,
        )
    for name, path in OF_A_CROWD.items():
        page = _page_of(live, browser, edda if "/organize" in path else ann)
        draw(page, path, screens, f"{name}-{crowd}")
        page.context.close()


def test_every_fate(live: Any, browser: Browser, screens: Path) -> None:
    """Draw the pages of a site with submissions of every fate, for strangers, a member and an organizer."""
    paths = populate(live)
    edda = live.person("Edda")
    with live.database.write() as session:
        for slug in ("toxicity", "old"):
            organizers.add(
                session,
                competition=lookup.get(session, slug=slug),
                user=edda.user,
                role=Role.OWNER,
                actor=Actor(None, "tests"),
                now=live.now(),
            )
    page = _page_of(live, browser, None)
    for name, path in paths.strangers.items():
        draw(page, path, screens, name)
    page.context.add_cookies([{"name": "fairboard_login", "value": paths.cookie, "url": live.address}])
    for name, path in paths.member.items():
        draw(page, path, screens, name)
    page = _page_of(live, browser, edda)
    for slug in ("toxicity", "old"):
        for name, path in _organizers_pages(live.app, slug):
            draw(page, path, screens, f"{name}-{slug}")


def _organizers_pages(app: Flask, slug: str) -> Iterator[tuple[str, str]]:
    """Return name and address of every page of organizers that needs nothing but its competition."""
    adapter = app.url_map.bind("localhost")
    for rule in app.url_map.iter_rules():
        is_page = rule.endpoint.endswith((".index", ".show")) and "GET" in (rule.methods or ())
        if is_page and rule.endpoint.startswith("organize_") and rule.arguments == {"slug"}:
            yield (
                rule.endpoint.replace("_", "-").replace(".", "-"),
                adapter.build(rule.endpoint, {"slug": slug}),
            )
