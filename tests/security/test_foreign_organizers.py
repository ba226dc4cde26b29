"""Who organizes one competition reaches nothing of another, by whatever id and under whichever address."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Column, select

from grader.db import Base
from grader.models import Competition
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.solutions import checks
from grader.services.solutions.checks import UploadedFile
from tests.fixtures.routes import ROUTES
from tests.fixtures.walks import Asker, addresses
from tests.fixtures.worlds import CONFIDENTIAL, ELSEWHERE, SLUG, Truth, World

# Cookies and form tokens: three letters of a name come up in them by chance.
SIGNED = re.compile(r"[\w-]+\.[\w-]{6}\.[\w-]{27}")
NAMES = ("Aces", "Bob", "Cem", "Dora", "Edda", "predictions.csv")


@pytest.fixture(scope="module")
def world(make_world: Callable[..., World]) -> World:
    """A world in which Eve owns a competition in which nothing has happened, and a solution is checked."""
    world = make_world(Truth.first())
    world.begin()
    blob = world.arena.storage.put(b"the solution")
    with world.arena.database.write() as session:
        checks.add(
            session,
            competition=lookup.get(session, slug=SLUG),
            file=UploadedFile.of("solution.csv", blob),
            actor=Actor(None, "tests"),
            now=world.clock.time,
        )
    return world


def test_under_the_own_address_the_ids_of_another_competition_reach_nothing(world: World):
    asked = 0
    for method, endpoint, path in addresses(world.arena.app):
        if f"/{SLUG}" in path:
            here = path.replace(f"/{SLUG}", f"/{ELSEWHERE}", 1)
            told = _ask(world, "Eve", method, endpoint, here)
            assert not told.startswith("5"), f"{method} {here}"
            for text in (*CONFIDENTIAL, *NAMES):
                assert text not in told, f"{method} {here}: {text}"
            asked += 1
    assert asked > 100


@pytest.mark.parametrize(("name", "refused"), [("Eve", "403"), ("Ann", "403"), (None, "302")])
def test_every_organizers_page_is_refused_to_others(world: World, name: str | None, refused: str):
    paths = [each for each in addresses(world.arena.app) if f"/{SLUG}/organize" in each[2]]
    for method, endpoint, path in paths:
        told = _ask(world, name, method, endpoint, path)
        is_strange = name is None and path.startswith("/api/")
        assert told.startswith("401" if is_strange else refused), f"{method} {path}: {told[:40]}"
    assert len(paths) > 40


def test_a_viewer_sees_the_pages_and_changes_nothing(world: World):
    seen = 0
    for method, endpoint, path in addresses(world.arena.app):
        if f"/{SLUG}/organize" in path:
            told = _ask(world, "Vera", method, endpoint, path)
            assert method == "GET" or told.startswith("403"), f"{method} {path}: {told[:40]}"
            seen += told.startswith("200")
    assert seen > 20


def _ask(world: World, name: str | None, method: str, endpoint: str, path: str) -> str:
    """Return what an address tells; a form changes nothing of the competition."""
    before = {} if method == "GET" else _rows(world)

    def see():
        assert _rows(world) == before, f"{method} {path} as {name}"

    with Asker(world, world.people[name] if name else None) as asker:
        if method == "GET":
            told = asker.get(path)
        else:
            told = asker.post(path, ROUTES[f"{method} {endpoint}"].visit.form(), method=method, see=see)
    return SIGNED.sub("signed", told)


def _rows(world: World) -> dict[str, list[Any]]:
    """Return everything that is stored of the competition."""
    with world.arena.database.read() as session:
        here = lookup.get(session, slug=SLUG).id
        return {
            table.name: session.execute(select(table).where(column == here)).all()
            for table, column in _of_competitions()
        }


def _of_competitions() -> Iterator[tuple[Any, Column[Any]]]:
    for table in Base.metadata.sorted_tables:
        if table.name == Competition.__tablename__:
            yield table, table.c.id
        elif "competition_id" in table.c:
            yield table, table.c.competition_id
