"""Reduced crawl on PostgreSQL: pages independent of labels and corrections."""

from collections.abc import Callable

import pytest

from tests.fixtures.walks import Walk, walk
from tests.fixtures.worlds import Truth, World

NAMES = {"public": None, "stranger": "Eve", "participant": "Bob", "leader": "Ann"}


@pytest.mark.long
def test_nothing_read_from_postgresql_depends_on_private_labels(
    make_world: Callable[..., World], make_postgresql_url: Callable[[], str]
):
    truth = Truth.first()
    one, other = (
        _walks(make_world(each, correction=number, database_url=make_postgresql_url()))
        for number, each in enumerate((truth, truth.with_other_private_labels()))
    )
    for before_the_reveal in range(3):
        assert one[before_the_reveal] == other[before_the_reveal]
    assert one[-1] != other[-1]


def _walks(world: World) -> list[Walk]:
    """Crawl the site while the competition is open, closed, settled and revealed."""
    walks = []
    for happen in (world.begin, world.close, world.settle, world.reveal):
        happen()
        world.dice.seed(len(walks))
        walks.append(walk(world, NAMES, posts=()))
    return walks
