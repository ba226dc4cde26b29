"""Fixtures for fuzz tests of complete sites."""

import pytest

from tests.fixtures.sieges import Siege
from tests.fixtures.worlds import Truth


@pytest.fixture(scope="module")
def make_siege(make_world):
    """Factory of sieges: test sites with a long history that receive arbitrary input."""
    sieges: list[Siege] = []

    def make(*, database_url: str | None = None) -> Siege:
        world = make_world(Truth.first(), database_url=database_url)
        world.begin()
        sieges.append(Siege(world))
        return sieges[-1]

    yield make
    for siege in sieges:
        siege.close()
