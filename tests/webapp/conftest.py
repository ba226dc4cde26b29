"""Fixtures for page and API tests on either database."""

from datetime import UTC, datetime

import pytest

from grader.models import Role
from tests.fixtures.databases import set_clock
from tests.fixtures.desk import Desk


@pytest.fixture
def arena(database_url, make_arena):
    """A complete test site without competitions or users."""
    return make_arena(database_url=database_url)


@pytest.fixture
def ann(arena):
    """A user of a site with a competition."""
    arena.competition()
    return arena.person("Ann")


@pytest.fixture
def root(arena):
    """An administrator of the site."""
    return arena.person("Root", is_admin=True)


@pytest.fixture
def olga(arena):
    """The owner of a competition."""
    arena.competition()
    olga = Desk(arena.person("Olga"))
    arena.give_role(olga.person, Role.OWNER)
    return olga


@pytest.fixture
def clock(monkeypatch):
    """The current time, which only the test changes."""
    times = [datetime(2030, 1, 1, tzinfo=UTC)]
    set_clock(monkeypatch, lambda: times[-1])
    return times
