"""First screen of a leaderboard, and layouts with scores of any size."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from sqlalchemy import update

from fairboard.interface import Direction
from grader.models import Score, ScoringVersion, Standing, Team
from grader.ranking.order import Scale
from grader.services.competitions import lookup
from grader.services.competitions.metric import NamedMetric, Rules
from tests.fixtures import crowds

pytestmark = pytest.mark.browser
HERE = "/competitions/toxicity"
LONG = "A team with a name of ninety-two characters, which is as long as the longest name ever seen."
# The words and the actions that are visible without scrolling.
FIRST_SCREEN = """
() => {
  const isSeen = (box) => box.width > 1 && box.height > 1 && box.top < innerHeight && box.bottom > 0;
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let words = 0;
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const range = document.createRange();
    range.selectNodeContents(text);
    const isShown = text.parentElement.checkVisibility({ visibilityProperty: true });
    if (isShown && !text.parentElement.closest(".unseen") && isSeen(range.getBoundingClientRect())) {
      words += text.textContent.split(/\\s+/).filter(Boolean).length;
    }
  }
  const actions = [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }))
    .filter((each) => isSeen(each.getBoundingClientRect()));
  return [words, actions.length];
}
"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def site(live):
    """A competition with many teams; Ann has a scored file."""
    competition = live.competition()
    live.ann = live.person("Ann")
    live.submission_id = live.submit(live.ann, live.truth.predictions())
    live.score_all()
    with live.database.write() as session:
        now = live.now()
        crowds.fill(session, competition=competition, teams=60, files=120, start=now, end=now)
    return live


@pytest.fixture
def page(site, browser: Browser) -> Iterator[Page]:
    """Ann's browser page."""
    context = browser.new_context(base_url=site.address, viewport={"width": 1280, "height": 720})
    cookie = site.ann.browser.get_cookie("fairboard_login").value
    context.add_cookies([{"name": "fairboard_login", "value": cookie, "url": site.address}])
    yield context.new_page()
    context.close()


def test_the_first_screen_of_a_leaderboard_has_at_most_200_words_and_30_actions(page: Page):
    page.goto(f"{HERE}/leaderboard", wait_until="networkidle")
    words, actions = page.evaluate(FIRST_SCREEN)
    assert 100 < words <= 200 and 15 < actions <= 30, (words, actions)


@pytest.mark.parametrize("score", [1e-6, 28_797.34311, 1e10, -2.5])
def test_pages_with_scores_of_any_size_fit_the_window(site, page: Page, score: float):
    metric = NamedMetric(name="rmse")
    about = metric.describe()
    scale = Scale(about.decimals, about.direction is Direction.LOWEST)
    with site.database.write() as session:
        version = lookup.live(lookup.get(session, slug="toxicity"))
        settings = Rules(metric=metric).as_settings()
        session.execute(
            update(ScoringVersion).where(ScoringVersion.id == version.id).values(metric_settings=settings)
        )
        session.execute(update(Score).values(score=score * (1 + Score.submission_id / 1000), terms={}))
        session.execute(
            update(Standing).values(score_units=scale.units(score) * (1000 + Standing.submission_id) / 1000)
        )
        session.execute(update(Team).where(Team.id == 9).values(name=LONG))
    found = []
    for path in ("", "/leaderboard", "/submissions", f"/submissions/{site.submission_id}"):
        for width in (320, 1280):
            page.set_viewport_size({"width": width, "height": 720})
            page.goto(f"{HERE}{path}")
            found += [(path, width, page.evaluate(TOO_WIDE))]
    assert all(too_wide <= 0 for *_, too_wide in found), found
