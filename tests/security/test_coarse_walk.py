"""Coarse feedback modes: equal responses for different solutions."""

from collections.abc import Callable

import pytest

from grader.visibility import Feedback
from tests.fixtures.worlds import Truth, World
from tests.security.test_walk import MOMENTS, Extent, assert_same, follow


@pytest.mark.parametrize(
    "feedback",
    [Feedback.TIERED, Feedback.BLIND],
)
@pytest.mark.long
def test_coarse_modes_disclose_nothing_about_private_labels_before_the_reveal(
    make_world: Callable[..., World], feedback: Feedback
):
    moments = ("open", "closed", "settled")
    extents = dict.fromkeys(moments, Extent(queries=False, forms=(), desks=(), others=("public", "leader")))
    truth = Truth.first()
    one, other = (
        follow(make_world(each, feedback, correction=number), extents, moments)
        for number, each in ((7, truth), (8, truth.with_other_private_labels()))
    )
    for moment in moments:
        assert_same(one.at(moment), other.at(moment), MOMENTS[moment])
