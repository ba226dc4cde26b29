"""First screen of a leaderboard: at most 200 words and 30 actions."""

import pytest

from tests.fixtures import crowds

pytestmark = pytest.mark.browser
HERE = "/competitions/toxicity"
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
def page(site, browser):
    """Ann's browser page."""
    context = browser.new_context(base_url=site.address, viewport={"width": 1280, "height": 720})
    cookie = site.ann.browser.get_cookie("fairboard_login").value
    context.add_cookies([{"name": "fairboard_login", "value": cookie, "url": site.address}])
    yield context.new_page()
    context.close()


def test_the_first_screen_of_a_leaderboard_has_at_most_200_words_and_30_actions(page):
    page.goto(f"{HERE}/leaderboard", wait_until="networkidle")
    words, actions = page.evaluate(FIRST_SCREEN)
    assert 100 < words <= 200 and 15 < actions <= 30, (words, actions)
