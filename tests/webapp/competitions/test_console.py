"""Console: next action in each state, open requests, drafts without a solution."""

import re
from datetime import timedelta

from grader.services.competitions import acting, drafts, lookup
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.rescoring import preparation
from grader.services.site.log import Actor
from tests.fixtures.desk import Desk
from tests.fixtures.rescorings import store_corrected

HERE = "/competitions/toxicity"
DESK = f"{HERE}/organize"


def next_act(page):
    """Return the text of the primary button and its link."""
    (band,) = re.findall(r'<section class="next-act.*?</section>', page, re.DOTALL)
    buttons = re.findall(r'<a class="button" href="([^"]+)">([^<]+)</a>', band)
    primary = re.findall(r'class="button"|<button>', page.partition("<main")[2])
    assert len(primary) == len(buttons) <= 1
    return (buttons[0][1], buttons[0][0]) if buttons else ("", "")


def close(arena):
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").closes_at = arena.now() - timedelta(seconds=1)


def test_a_prepared_scoring_version_is_the_next_action(arena, root):
    arena.competition()
    arena.submit(arena.person("Ann"), arena.truth.predictions())
    desk = Desk(root)
    desk.work()
    with arena.database.write() as session:
        competition = lookup.get(session, slug="toxicity")
        solution = store_corrected(arena.storage, competition, arena.truth.solution())
        act = acting.begin(session, competition=competition, actor=Actor(None, "tests"), now=arena.now())
        preparation.prepare(act, solution=solution, reason="The labels were wrong.")
    page = root.browser.get(DESK).text
    assert next_act(page) == ("See", f"{DESK}/rescoring/2")
    assert "Scoring version 2 is being prepared" in page
    desk.work()
    assert next_act(root.browser.get(DESK).text) == ("Review", f"{DESK}/rescoring/2")


def test_the_next_action_follows_the_state(arena, root):
    arena.competition()
    desk = Desk(root)

    def seen() -> tuple[str, str]:
        return next_act(root.browser.get(DESK).text)

    assert seen() == ("", "")
    arena.submit(arena.person("Ann"), arena.truth.predictions())
    desk.work()
    close(arena)
    desk.work()
    assert seen() == ("Reveal", f"{DESK}/close#reveal")
    root.confirm(f"{DESK}/close/reveal")
    assert seen() == ("Download results bundle", f"{DESK}/close#results")


def test_the_next_action_of_a_draft_without_a_solution_is_its_setup(arena, root):
    with arena.database.write() as session:
        settings = CompetitionSettings(title="Next")
        drafts.create(session, slug="next", settings=settings, actor=Actor.shell(), now=arena.now())
    page = root.browser.get("/competitions/next/organize").text
    assert next_act(page) == ("Continue setup", "/competitions/next/organize/settings#publish")
    assert "No solution has been accepted." in page
    for tab in ("leaderboard", "submissions", "leaderboard.csv"):
        asked = root.browser.get(f"/competitions/next/{tab}")
        assert (asked.status_code, "has no solution yet" in asked.text) == (400, True)
