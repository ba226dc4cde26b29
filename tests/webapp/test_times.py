"""Times on pages without JavaScript: every one names its zone."""

from collections.abc import Callable

import pytest

from tests.browser import visits
from tests.fixtures.worlds import Truth, World
from tests.fixtures.zones import unzoned, unzoned_in


@pytest.mark.parametrize("moment", visits.MOMENTS)
def test_every_time_on_every_page_names_its_zone(make_world: Callable[..., World], moment: str):
    world = make_world(Truth.first())
    for happen in visits.MOMENTS[moment]:
        getattr(world, happen)()
    found = {path: unzoned_in(html) for path, (_, html) in visits.pages(world).items()}
    assert len(found) >= 60
    assert not {path: times for path, times in found.items() if times}


@pytest.mark.parametrize("text", ["14 Mar 23:58", "at 9:30 PM", "14:00 to 15:00", "closes 23:58:01."])
def test_a_time_without_its_zone_is_found(text: str):
    assert unzoned(text)


@pytest.mark.parametrize(
    "text", ["23:58 UTC", "9:30 PM GMT+5:30", "2026-03-14T23:58:00Z", "00:00 to 24:00 UTC"]
)
def test_a_time_with_its_zone_is_not_found(text: str):
    assert not unzoned(text)
