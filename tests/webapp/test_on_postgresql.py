"""Every page and everything that the API reads, on PostgreSQL: it refuses statements that SQLite takes."""

from collections.abc import Callable

from tests.fixtures.walks import walk
from tests.fixtures.worlds import Truth, World


def test_nothing_that_is_read_breaks_on_postgresql(
    make_world: Callable[..., World], make_postgresql_url: Callable[[], str]
):
    world = make_world(Truth.first(), database_url=make_postgresql_url())
    world.begin()
    told = walk(world, {"leader": "Ann", "administrator": "Root"}, posts=(), queries=False)
    assert len(told) > 300
    assert {asked: text[:200] for asked, text in told.items() if text.startswith("5")} == {}
