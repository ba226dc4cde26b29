"""Crawl of an anonymous competition: other teams' names reach nobody, in any form.

Two worlds have the same history, but the other teams and their members have other names. Everything sent to
a visitor, a newcomer and a member of another team must be identical.
"""

import itertools
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import Team
from grader.visibility import Anonymity
from tests.fixtures.walks import MAIL, addresses, walk
from tests.fixtures.worlds import OPENS, SLUG, Truth
from tests.security.test_walk import HISTORY

pytestmark = pytest.mark.system

NAMES = {"Ann": "Zoltan", "Alan": "Yvonne", "Cem": "Xanthippe", "Dora": "Wilhelmine", "Aces": "Quokkas"}
ROLES = {"public": None, "newcomer": "Nia", "participant": "Bob"}


def told(world, *moments):
    """Return everything that others see in these phases."""
    walks = {}
    for moment, event in HISTORY.items():
        getattr(world, event)()
        if moment == "open":
            world.clock.to(OPENS + timedelta(days=6, hours=1))
            world.people["Nia"] = world.arena.person("Nia")
        if moment in moments:
            world.dice.seed(moment)
            with world.undone():
                walks[moment] = walk(world, ROLES, posts=(), queries=False, desks=()) | _searches(world)
                walks[moment] |= walk(world, {"participant": "Bob"}, only=_kaggle_calls(world))
                walks[moment]["mail", "all mails"] = _mails(walks[moment])
    board = f"/api/v1/competitions/{SLUG}/leaderboard"
    walks["end"] = {("public", f"GET {board}"): world.arena.app.test_client().get(board).text}
    return walks


@pytest.mark.parametrize(
    ("anonymity", "moments"),
    [
        (Anonymity.UNTIL_REVEAL, ("settled",)),
        pytest.param(Anonymity.ALWAYS, ("open", "revealed"), marks=pytest.mark.long),
    ],
)
def test_no_response_depends_on_names_of_other_teams(make_world, anonymity, moments):
    one, other = (
        told(make_world(Truth.first(), anonymity=anonymity, names=names), *moments) for names in ({}, NAMES)
    )
    for moment in moments:
        assert one[moment].keys() == other[moment].keys()
        assert [key for key, text in one[moment].items() if text != other[moment][key]] == []
    is_shown = anonymity is Anonymity.UNTIL_REVEAL
    for walks, name in ((one, "Aces"), (other, "Quokkas")):
        assert (
            f'"{name}"' in walks["end"]["public", f"GET /api/v1/competitions/{SLUG}/leaderboard"]
        ) is is_shown


def _kaggle_calls(world):
    """Return Bob's requests to the Kaggle protocol, all of which are forms."""
    calls = (
        f"{method} {path}" for method, endpoint, path in addresses(world.arena.app) if "kaggle." in endpoint
    )
    return {("participant", each) for each in calls}


def _mails(walked):
    sent = walked["mail", "all mails"].split(MAIL)
    return MAIL.join(each for each in sent if each.startswith(("bob@", "nia@")))


def _searches(world):
    """Return what searches for names and aliases find, and the orders by name."""
    with world.arena.database.read() as session:
        aliases = session.scalars(select(Team.alias).order_by(Team.id)).all()
    words = [*itertools.chain(*NAMES.items()), *aliases]
    queries = [*(f"q={word}" for word in words), "sort=team", "sort=team&order=desc"]
    answers = {}
    for query in queries:
        path = f"/competitions/{SLUG}/leaderboard?{query}"
        answers["participant", f"GET {path}"] = world.people["Bob"].browser.get(path).text
        path = f"/api/v1{path}"
        bearer = world.people["Bob"].bearer
        answers["participant", f"GET {path}"] = world.arena.app.test_client().get(path, headers=bearer).text
    return answers
