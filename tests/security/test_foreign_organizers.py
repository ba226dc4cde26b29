"""Isolation between competitions: no access for organizers of other competitions."""

import re

import pytest
from sqlalchemy import select

from grader.models.base import Base
from grader.services.competitions import lookup
from tests.fixtures.routes import ROUTES
from tests.fixtures.walks import Asker, addresses
from tests.fixtures.worlds import CONFIDENTIAL, ELSEWHERE, SLUG, Truth

pytestmark = pytest.mark.system

# Cookies and CSRF tokens are excluded, because they can contain short names by chance.
SIGNED = re.compile(r"[\w-]+\.[\w-]{6}\.[\w-]{27}")
NAMES = ("Aces", "Bob", "Cem", "Dora", "Edda", "predictions.csv")


@pytest.fixture(scope="module")
def world(make_world):
    """A world in which Eve owns a competition without events."""
    world = make_world(Truth.first())
    world.begin()
    return world


def test_ids_of_another_competition_disclose_nothing_under_the_organizers_own_address(world):
    asked = 0
    for path, told in _ask(world, f"/{SLUG}", f"/{ELSEWHERE}"):
        asked += 1
        assert not told.startswith("5"), path
        for text in (*CONFIDENTIAL, *NAMES):
            assert text not in told, f"{path}: {text}"
    assert asked > 100


def test_every_organizers_page_is_denied_to_organizers_of_another_competition(world):
    statuses = {path: told[:3] for path, told in _ask(world, f"/{SLUG}/organize", f"/{SLUG}/organize")}
    assert set(statuses.values()) == {"403"}, statuses
    assert len(statuses) > 40


def _ask(world, place, asked):
    """Yield Eve's requests to all addresses below `place`, sent to `asked` instead, and the responses.

    Fail if a form changes the competition.
    """
    before = _rows(world)
    with Asker(world, world.people["Eve"]) as asker:
        for method, endpoint, path in addresses(world.arena.app):
            if place not in path:
                continue
            path = path.replace(place, asked, 1)

            def see(where: str = f"{method} {path}"):
                assert _rows(world) == before, where

            if method == "GET":
                told = asker.get(path)
            else:
                told = asker.post(path, ROUTES[f"{method} {endpoint}"].visit.form(), method=method, see=see)
            yield f"{method} {path}", SIGNED.sub("signed", told)


def _rows(world):
    """Return all stored rows that belong to the competition."""
    with world.arena.database.read() as session:
        here = lookup.get(session, slug=SLUG).id
        found = {
            table.name: session.execute(select(table).where(table.c.competition_id == here)).all()
            for table in Base.metadata.sorted_tables
            if "competition_id" in table.c
        }
        table = Base.metadata.tables["competition"]
        return found | {"competition": session.execute(select(table).where(table.c.id == here)).all()}
