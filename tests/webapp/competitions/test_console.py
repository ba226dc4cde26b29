"""Console: next step in each state, open requests, drafts without a solution."""

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


def next_step(page):
    """Return the text of the primary button and its link."""
    buttons = re.findall(r'<a class="button" href="([^"]+)">([^<]+)</a>', page.partition("<main")[2])
    assert len(buttons) == page.count('<section class="next-act') <= 1
    return (buttons[0][1], buttons[0][0]) if buttons else ("", "")


def close(arena):
    with arena.database.write() as session:
        lookup.get(session, slug="toxicity").closes_at = arena.now() - timedelta(seconds=1)


def test_a_prepared_scoring_version_is_a_task(arena, root):
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
    assert f'<a href="{DESK}/rescoring/2">Scoring version 2 is being prepared</a>' in page
    desk.work()
    page = root.browser.get(DESK).text
    assert f'<a href="{DESK}/rescoring/2">Scoring version 2 is ready to publish</a>' in page


def test_the_next_step_follows_the_state(arena, root):
    arena.competition()
    desk = Desk(root)

    def seen() -> tuple[str, str]:
        return next_step(root.browser.get(DESK).text)

    assert seen() == ("", "")
    arena.submit(arena.person("Ann"), arena.truth.predictions())
    desk.work()
    close(arena)
    desk.work()
    assert seen() == ("Reveal", f"{DESK}/close#reveal")
    root.confirm(f"{DESK}/close/reveal")
    assert seen() == ("Download results bundle", f"{DESK}/close#results")


def test_the_next_step_of_a_draft_without_a_solution_is_its_setup(arena, root):
    with arena.database.write() as session:
        settings = CompetitionSettings(title="Next")
        drafts.create(session, slug="next", settings=settings, actor=Actor.shell(), now=arena.now())
    page = root.browser.get("/competitions/next/organize").text
    assert next_step(page) == ("Continue setup", "/competitions/next/organize/settings#publish")
    assert "No solution has been accepted." in page
    for tab in ("leaderboard", "submissions", "leaderboard.csv"):
        asked = root.browser.get(f"/competitions/next/{tab}")
        assert (asked.status_code, "has no solution yet" in asked.text) == (400, True)
