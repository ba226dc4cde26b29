"""Isolation between competitions: no access for organizers of other competitions."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from sqlalchemy import Column, select

from grader.db import Base
from grader.models import Competition
from grader.services.competitions import lookup
from grader.services.site.log import Actor
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import UploadedFile
from tests.fixtures.routes import ROUTES
from tests.fixtures.walks import Asker, addresses
from tests.fixtures.worlds import CONFIDENTIAL, ELSEWHERE, SLUG, Truth, World

pytestmark = pytest.mark.system

# Cookies and CSRF tokens are excluded, because they can contain short names by chance.
SIGNED = re.compile(r"[\w-]+\.[\w-]{6}\.[\w-]{27}")
NAMES = ("Aces", "Bob", "Cem", "Dora", "Edda", "predictions.csv")


@pytest.fixture(scope="module")
def world(make_world: Callable[..., World]) -> World:
    """A world in which Eve owns a competition without events, and a solution check is in progress."""
    world = make_world(Truth.first())
    world.begin()
    blob = world.arena.storage.put(b"the solution")
    with world.arena.database.write() as session:
        check_jobs.add(
            session,
            competition=lookup.get(session, slug=SLUG),
            file=UploadedFile.of("solution.csv", blob),
            actor=Actor(None, "tests"),
            now=world.clock.time,
        )
    return world


def test_ids_of_another_competition_disclose_nothing_under_the_organizers_own_address(world: World):
    paths = [
        (method, endpoint, path.replace(f"/{SLUG}", f"/{ELSEWHERE}", 1))
        for method, endpoint, path in addresses(world.arena.app)
        if f"/{SLUG}" in path
    ]
    for method, path, told in _ask(world, "Eve", paths):
        assert not told.startswith("5"), f"{method} {path}"
        for text in (*CONFIDENTIAL, *NAMES):
            assert text not in told, f"{method} {path}: {text}"
    assert len(paths) > 100


@pytest.mark.parametrize(("name", "refused"), [("Eve", "403"), (None, "302")])
def test_every_organizers_page_is_denied_to_others(world: World, name: str | None, refused: str):
    paths = _console(world)
    for method, path, told in _ask(world, name, paths):
        is_strange = name is None and path.startswith("/api/")
        assert told.startswith("401" if is_strange else refused), f"{method} {path}: {told[:40]}"
    assert len(paths) > 40


@pytest.mark.long
def test_viewer_sees_the_pages(world: World):
    """`test_routes.py` tests that a viewer changes nothing."""
    pages = [each for each in _console(world) if each[0] == "GET"]
    assert sum(told.startswith("200") for _, _, told in _ask(world, "Vera", pages)) > 20


def _console(world: World) -> list[tuple[str, str, str]]:
    """Return the method, endpoint and path of each organizers' page."""
    return [each for each in addresses(world.arena.app) if f"/{SLUG}/organize" in each[2]]


def _ask(
    world: World, name: str | None, paths: Iterable[tuple[str, str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield each address's method, path and response; fail if a form changes the competition."""
    before = _rows(world)
    with Asker(world, world.people[name] if name else None) as asker:
        for method, endpoint, path in paths:

            def see(where: str = f"{method} {path} as {name}"):
                assert _rows(world) == before, where

            if method == "GET":
                told = asker.get(path)
            else:
                told = asker.post(path, ROUTES[f"{method} {endpoint}"].visit.form(), method=method, see=see)
            yield method, path, SIGNED.sub("signed", told)


def _rows(world: World) -> dict[str, list[Any]]:
    """Return all stored rows that belong to the competition."""
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
