"""`make screenshots`: pages with 0 to 10,000 teams, at two widths and in both themes."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
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


def _page_of(live, browser: Browser, person) -> Page:
    context = browser.new_context(base_url=live.address)
    if person:
        cookie = person.browser.get_cookie("fairboard_login")
        context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": live.address}])
    return context.new_page()


def _fill(live, teams: int) -> tuple[Any, Any]:
    """Add teams and submissions to a competition; return a member and an organizer."""
    now = live.now()
    start = now - timedelta(days=30)
    live.competition(
        title="Unintended bias in toxicity",
        overview=OVERVIEW,
        opens_at=start,
        closes_at=now + timedelta(days=20, hours=3),
        max_daily_submissions=5,
        positive_name="harmful",
        negative_name="harmless",
        row_name="comments",
    )
    ann, edda = live.person("Ann"), live.person("Edda")
    with live.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        if teams:
            crowds.fill(
                session,
                competition=competition,
                teams=teams,
                files=teams * FILES_OF_EACH,
                start=start,
                end=now,
            )
        organizers.add(
            session,
            competition=competition,
            user=edda.user,
            role=Role.OWNER,
            actor=Actor(None, "tests"),
            now=now,
        )
    for noise in (2.2, 1.9, 1.8) if teams else ():
        live.submit(ann, live.truth.predictions(noise=noise, seed=3))
    live.score_all()
    return ann, edda


@pytest.mark.parametrize("crowd", CROWDS)
def test_pages_for_each_number_of_teams(live, browser: Browser, screens: Path, crowd: str):
    """Take screenshots of the pages that change with the number of teams."""
    ann, edda = _fill(live, CROWDS[crowd])
    for name, path in OF_A_CROWD.items():
        page = _page_of(live, browser, edda if "/organize" in path else ann)
        draw(page, path, screens, f"{name}-{crowd}")
        page.context.close()


def test_pages_of_submissions_in_every_state(live, browser: Browser, screens: Path):
    """Take screenshots of a site with submissions in every state, for visitors and a member."""
    paths = populate(live)
    page = _page_of(live, browser, None)
    for name, path in paths.strangers.items():
        draw(page, path, screens, name)
    page.context.add_cookies([{"name": "fairboard_login", "value": paths.cookie, "url": live.address}])
    for name, path in paths.member.items():
        draw(page, path, screens, name)
