"""`make screenshots`: pages with 0 to 10,000 teams, at two widths and in both themes."""

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import func, select

from grader.models import Role, Submission
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


STEPS = """
<body style="margin:0; font:600 26px/1.3 system-ui, sans-serif; color:{ink}; background:{paper}">
<div style="display:flex; gap:32px; padding:24px">{figures}</div></body>
"""
STEP = """
<figure style="margin:0"><figcaption style="margin:0 0 12px 4px">{number}. {caption}</figcaption>
<img src="data:image/png;base64,{image}" style="width:640px; border:1px solid {edge}"></figure>
"""


def test_screenshots_of_the_readme(live, browser: Browser, screens: Path):
    """Take screenshots of the README's three steps in both themes, for `make pictures`."""
    ann, _ = _fill(live, CROWDS["fifteen"])
    page = _page_of(live, browser, ann)
    page.set_viewport_size({"width": 1200, "height": 900})
    with live.database.read() as session:
        newest = session.scalar(select(func.max(Submission.id)))
    steps = {
        "Upload": f"{HERE}/submissions",
        "See what to improve": f"{HERE}/submissions/{newest}",
        "Compete": f"{HERE}/leaderboard",
    }
    for scheme, colours in {
        "light": {"ink": "#1f2328", "paper": "#ffffff", "edge": "#d0d7de"},
        "dark": {"ink": "#e6edf3", "paper": "#0d1117", "edge": "#30363d"},
    }.items():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        figures = ""
        for number, (caption, path) in enumerate(steps.items(), start=1):
            page.goto(path)
            image = base64.b64encode(page.screenshot()).decode()
            figures += STEP.format(number=number, caption=caption, image=image, **colours)
        sheet = browser.new_page(viewport={"width": 2034, "height": 570})
        sheet.set_content(STEPS.format(figures=figures, **colours))
        sheet.screenshot(path=screens / f"steps-{scheme}.png", full_page=True)
        sheet.close()


def test_pages_of_submissions_in_every_state(live, browser: Browser, screens: Path):
    """Take screenshots of a site with submissions in every state, for visitors and a member."""
    paths = populate(live)
    page = _page_of(live, browser, None)
    for name, path in paths.strangers.items():
        draw(page, path, screens, name)
    page.context.add_cookies([{"name": "fairboard_login", "value": paths.cookie, "url": live.address}])
    for name, path in paths.member.items():
        draw(page, path, screens, name)
