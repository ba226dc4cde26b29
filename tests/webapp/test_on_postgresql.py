"""Pages and API reads on PostgreSQL, which rejects some statements that SQLite accepts."""

import pytest

from tests.fixtures.walks import walk
from tests.fixtures.worlds import Truth

pytestmark = pytest.mark.system


def test_all_pages_and_api_reads_work_on_postgresql(make_world, make_postgresql_url):
    world = make_world(Truth.first(), database_url=make_postgresql_url())
    world.begin()
    told = walk(world, {"administrator": "Root"}, posts=(), queries=False)
    assert len(told) > 150
    assert {asked: text[:200] for asked, text in told.items() if text.startswith("5")} == {}
