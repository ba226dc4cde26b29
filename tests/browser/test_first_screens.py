"""First screens: they answer a participant's ten questions without scrolling, on a desktop and a phone."""

from datetime import timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from grader.worker.scheduled_tasks import Calendar
from tests.browser.looks import looks, seen
from tests.browser.test_great_pages import publish
from tests.browser.test_screens import OVERVIEW

pytestmark = [pytest.mark.browser, pytest.mark.long]
HERE = "/competitions/toxicity"
SCREENS = {"desk": (1440, 900), "phone": (390, 844)}
# The part of a page that answers each question.
ANSWERS = {
    "How many submissions are left?": (HERE, ".hero >> text=/^Submissions left$/"),
    "When does it close, in my time?": (HERE, ".hero >> text=/GMT\\+5:30/"),
    "Did it count?": (HERE, ".cockpit >> text=/does not change your rank/"),
    "What is my rank?": (HERE, ".hero >> text=/of \\d teams/"),
    "Which identity costs the most?": (HERE, ".cockpit >> text=/Costs the most/"),
    "Which files are final?": (HERE, ".cockpit >> text=/1 of 2 selected/"),
    "What is new?": (HERE, ".cockpit >> text=/A new data file/"),
    "Did my change help?": (HERE, ".cockpit >> text=/± 0.* against #\\d+, (more than|within) chance/"),
    "Is my rank beyond chance?": (f"{HERE}/leaderboard", ".standings tr.own"),
    "How far is the next rank?": (HERE, ".hero >> text=/behind the \\d/"),
}
FIRST_STEPS = {
    step: (HERE, f".cockpit >> text={step}") for step in ("Get the data", "Train", "Submit its output")
}


@pytest.fixture
def site(live):
    """A competition of seven teams. Ann has 12 files; one is selected, and the latest is not the best."""
    publish(
        live, overview=OVERVIEW, closes_at=live.now() + timedelta(days=20, hours=3), max_daily_submissions=15
    )
    root = live.person("Root", is_admin=True)
    for place in range(6):
        live.submit(live.person(f"Team {place}"), live.truth.predictions(noise=1.4 + place / 4, seed=place))
    live.ann, live.newcomer = live.person("Ann"), live.person("Newcomer")
    noises = (3, 2.8, 2.6, 2.5, 2.4, 2.3, 2.2, 2.1, 2, 1.9, 1.8, 2.2)
    for place, noise in enumerate(noises):
        live.files = live.submit(live.ann, live.truth.predictions(noise=noise, seed=40 + place))
    live.score_all()
    live.ann.post(f"{HERE}/submissions/{live.files - 2}/selection", {"selected": "yes"})
    news = {
        "title": "A new data file: annotations.csv",
        "body": "One row per annotator.",
        "act": "post",
    }
    assert root.confirm(f"{HERE}/organize/announcements", news).status_code == 303
    Calendar(live.database).run_due()
    live.work()
    return live


def _page(site, browser: Browser, person) -> Page:
    # A zone far from UTC, because the closing date must be in the reader's zone.
    context = browser.new_context(base_url=site.address, timezone_id="Asia/Kolkata")
    cookie = person.browser.get_cookie("fairboard_login")
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": site.address}])
    return context.new_page()


def _unseen(page: Page, where: str, width: int, height: int) -> str:
    """Return why a part of a page is not on its first screen, or an empty text."""
    part = page.locator(where)
    if part.count() == 0:
        return f"{where} is missing"
    box = part.first.bounding_box()
    if box is None:
        return f"{where} is hidden"
    right, bottom = box["x"] + box["width"], box["y"] + box["height"]
    is_seen = box["x"] >= 0 and box["y"] >= 0 and right <= width and bottom <= height
    return "" if is_seen else f"{where} ends at {right:.0f}, {bottom:.0f}"


@pytest.mark.parametrize("screen", SCREENS)
def test_the_first_screens_answer_a_participants_questions(
    site, browser: Browser, screens: Path, screen: str
):
    size = {"width": SCREENS[screen][0], "height": SCREENS[screen][1]}
    for person, answers in ((site.ann, ANSWERS), (site.newcomer, FIRST_STEPS)):
        page = _page(site, browser, person)
        page.set_viewport_size(size)  # type: ignore[arg-type]
        unanswered = {}
        for question, (path, where) in answers.items():
            if page.url != f"{site.address}{path}":
                page.goto(path)
                page.screenshot(path=screens / f"{person.user.name}-{screen}-{path.rpartition('/')[2]}.png")
            if why := _unseen(page, where, *SCREENS[screen]):
                unanswered[question] = why
        assert not unanswered
        faults = [fault for look in looks(page) for fault in seen(page, look)]
        assert not faults
        page.context.close()
