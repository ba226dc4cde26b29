"""The five main pages: search, keyboard."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.long]
HERE = "/competitions/toxicity"
CYRILLIC = "\N{CYRILLIC CAPITAL LETTER YA}\N{CYRILLIC SMALL LETTER EN}\N{CYRILLIC SMALL LETTER A}"
TEAMS = ("Ann", "Bob", CYRILLIC, "Zoë")
# The visible controls that the keyboard has not reached, each identified by its text.
UNREACHED = """
() => {
  const controls = "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']";
  return [...document.querySelectorAll(controls)]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled)
    .filter((each) => !("reached" in each.dataset))
    .map((each) => each.outerHTML.slice(0, 160));
}
"""
REACH = """
() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const style = getComputedStyle(at);
  const box = at.getBoundingClientRect();
  const isNew = !("reached" in at.dataset);
  at.dataset.reached = "";
  const isSeen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 && box.width > 0;
  return [isNew, isSeen || at.matches("input[type=file]"), at.outerHTML.slice(0, 160)];
}
"""


@pytest.fixture
def site(live):
    """A competition with four teams; Ann has a scored file."""
    live.competition()
    people = {name: live.person(name) for name in TEAMS}
    for place, person in enumerate(people.values()):
        live.submit(person, live.truth.predictions(noise=2 + place / 2, seed=place))
    live.submission_id = live.submit(people["Ann"], live.truth.predictions(noise=1.7, seed=9))
    live.score_all()
    live.cookie = people["Ann"].browser.get_cookie("fairboard_login").value
    return live


@pytest.fixture
def ann(site, browser):
    """Ann's browser page, in a zone far from UTC, because scripts convert every time to the local zone."""
    context = browser.new_context(base_url=site.address, timezone_id="Asia/Kolkata")
    context.add_cookies([{"name": "fairboard_login", "value": site.cookie, "url": site.address}])
    yield context.new_page()
    context.close()


def test_typing_filters_the_leaderboard_and_a_slash_focuses_the_search(ann):
    ann.goto(f"{HERE}/leaderboard")
    names = ann.locator(".standings tbody .team > bdi")
    ann.keyboard.press("/")
    field = ann.get_by_label("Search for a team")
    expect(field).to_be_focused()
    expect(field).to_have_value("")
    ann.keyboard.type(CYRILLIC.lower()[:2])
    expect(names.filter(visible=True)).to_have_text([CYRILLIC])
    field.fill("")
    expect(ann.locator(".standings tbody tr").filter(visible=True)).to_have_count(len(TEAMS))
    field.fill("nobody")
    expect(ann.locator(".standings tbody tr").filter(visible=True)).to_have_count(0)
    ann.keyboard.type("/")
    expect(field).to_have_value("nobody/")


def test_the_keyboard_reaches_every_control_and_its_focus_is_visible(site, ann):
    below = ("", "/leaderboard", "/submissions", f"/submissions/{site.submission_id}", "/submissions/compare")
    for path in below:
        ann.goto(f"{HERE}{path}")
        unseen = []
        for _ in range(400):
            ann.keyboard.press("Tab")
            reached = ann.evaluate(REACH)
            if reached is None or not reached[0]:
                break
            if not reached[1]:
                unseen.append(reached[2])
        assert (path, unseen) == (path, [])
        assert (path, ann.evaluate(UNREACHED)) == (path, [])
