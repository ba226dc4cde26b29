"""Coarse feedback modes: equal responses for different solutions."""

from collections.abc import Callable

import pytest
from sqlalchemy import select

from grader.models import Score, Split
from grader.visibility import Feedback
from tests.fixtures.worlds import SLUG, Truth, World
from tests.security.test_walk import MOMENTS, Extent, assert_same, follow


@pytest.mark.parametrize(
    "feedback",
    [
        Feedback.LADDER,
        *(pytest.param(each, marks=pytest.mark.long) for each in (Feedback.NOISED, Feedback.BLIND)),
    ],
)
def test_coarse_modes_disclose_nothing_about_private_labels_before_the_reveal(
    make_world: Callable[..., World], feedback: Feedback
):
    """All worlds share one feedback key, so the files have the same noise and sketches in each."""
    moments = ("open", "closed", "settled")
    extents = dict.fromkeys(moments, Extent(queries=False, forms=(), desks=(), others=("public", "leader")))
    truth = Truth.first()
    one, other = (
        follow(make_world(each, feedback, correction=number), extents, moments)
        for number, each in ((7, truth), (8, truth.with_other_private_labels()))
    )
    for moment in moments:
        assert_same(one.at(moment), other.at(moment), MOMENTS[moment])
    with one.world.arena.database.read() as session:
        shown = session.scalars(select(Score.shown_units).where(Score.split == Split.PUBLIC)).all()
    assert feedback is Feedback.BLIND or any(units is not None for units in shown)


def test_histogram_and_agreement_do_not_depend_on_labels_identities_or_split(
    make_world: Callable[..., World],
):
    """The second world has the same files and row ids, but new labels, identities and splits."""
    seen = []
    for truth in (Truth.first(), Truth.first().with_everything_else()):
        world = make_world(truth, Feedback.BLIND)
        world.begin()
        browser = world.people["Ann"].browser
        pages = [browser.get(f"/competitions/{SLUG}/submissions/{number}").text for number in range(1, 12)]
        seen.append([page.partition(">Predictions<")[2].partition("Score receipt")[0] for page in pages])
    assert seen[0] == seen[1]
    assert any("Agreement with earlier files" in section for section in seen[0])
