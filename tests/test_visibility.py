"""Field visibility by viewer, phase and feedback mode."""

import itertools
from functools import partial

import pytest

import grader.visibility as visibility
from grader.visibility import Feedback, Field, Phase, Viewer

# The table for the mode that withholds nothing.
visible = partial(visibility.visible, feedback=Feedback.OPEN)
visible_fields = partial(visibility.visible_fields, feedback=Feedback.OPEN)

PRIVATE = {
    Field.PRIVATE_RANK,
    Field.PRIVATE_SCORE,
    Field.PRIVATE_TERMS,
    Field.PRIVATE_IDENTITIES,
    Field.PRIVATE_GAPS,
    Field.PRIVATE_DIFFERENCES,
    Field.COUNTED,
}
TABLES = {Field.PUBLIC_IDENTITIES, Field.PUBLIC_GAPS, Field.PRIVATE_IDENTITIES, Field.PRIVATE_GAPS}
PARTICIPANTS = (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM)
BEFORE = (Phase.SCHEDULED, Phase.OPEN, Phase.CLOSED)


@pytest.mark.parametrize("phase", BEFORE)
@pytest.mark.parametrize("viewer", PARTICIPANTS)
def test_participants_see_nothing_private_before_the_reveal(viewer, phase):
    assert not visible_fields(viewer, phase) & PRIVATE


@pytest.mark.parametrize("viewer", Viewer)
def test_everyone_sees_scores_and_tables_of_both_splits_after_the_reveal(viewer):
    assert visible_fields(viewer, Phase.REVEALED) >= PRIVATE | TABLES


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("viewer", PARTICIPANTS)
def test_labels_splits_and_codes_are_always_limited_to_organizers(viewer, phase):
    secrets = {Field.LABELS, Field.SPLITS, Field.ENTRY_CODE}
    assert not visible_fields(viewer, phase) & secrets
    assert visible_fields(Viewer.ORGANIZER, phase) >= secrets


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("viewer", Viewer)
def test_everyone_always_sees_the_public_score_and_its_terms(viewer, phase):
    assert visible_fields(viewer, phase) >= {Field.PUBLIC_RANK, Field.PUBLIC_SCORE, Field.PUBLIC_TERMS}


@pytest.mark.parametrize("phase", BEFORE)
def test_only_the_team_and_organizers_see_the_public_table_before_the_reveal(phase):
    seeing = {viewer for viewer in Viewer if visible(Field.PUBLIC_IDENTITIES, viewer, phase)}
    assert seeing == {Viewer.TEAM, Viewer.ORGANIZER}
    assert {viewer for viewer in Viewer if visible(Field.PUBLIC_GAPS, viewer, phase)} == {Viewer.ORGANIZER}


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("field", [Field.FILE, Field.TEAM_AFFAIRS, Field.ALLOWANCE, Field.SELECTION])
def test_team_activity_is_limited_to_the_team_and_organizers(field, phase):
    assert {viewer for viewer in Viewer if visible(field, viewer, phase)} == {Viewer.TEAM, Viewer.ORGANIZER}


@pytest.mark.parametrize("phase", Phase)
def test_visibility_is_between_that_of_the_public_and_of_organizers(phase):
    views = [
        visible_fields(viewer, phase)
        for viewer in (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM, Viewer.ORGANIZER)
    ]
    assert all(less <= more for less, more in itertools.pairwise(views))
    assert views[-1] == set(Field)


@pytest.mark.parametrize("viewer", Viewer)
def test_visible_field_stays_visible_in_later_phases(viewer):
    seen = [visible_fields(viewer, phase) for phase in Phase]
    assert all(before <= after for before, after in itertools.pairwise(seen))


@pytest.mark.parametrize("phase", BEFORE)
@pytest.mark.parametrize("viewer", PARTICIPANTS)
def test_each_mode_shows_no_more_than_the_one_before_it(viewer, phase):
    shown = [visibility.visible_fields(viewer, phase, feedback) for feedback in Feedback]
    tables = {Field.PUBLIC_IDENTITIES} if viewer is Viewer.TEAM else set()
    assert shown[0] - shown[1] == tables | {Field.PUBLIC_TERMS, Field.PUBLIC_DIFFERENCES}
    assert all(more >= less for more, less in itertools.pairwise(shown))
    assert shown[1] >= {Field.PUBLIC_SCORE, Field.PUBLIC_RANK}


@pytest.mark.parametrize("phase", BEFORE)
@pytest.mark.parametrize("viewer", PARTICIPANTS)
def test_blind_mode_shows_neither_scores_nor_ranks(viewer, phase):
    shown = visibility.visible_fields(viewer, phase, Feedback.BLIND)
    assert not shown & {Field.PUBLIC_RANK, Field.PUBLIC_SCORE, Field.PUBLIC_EXACT, Field.PUBLIC_TERMS}


@pytest.mark.parametrize("feedback", Feedback)
def test_no_mode_withholds_anything_after_the_reveal_or_from_organizers(feedback):
    for viewer in Viewer:
        revealed = visibility.visible_fields(viewer, Phase.REVEALED, feedback)
        assert revealed == visible_fields(viewer, Phase.REVEALED)
    for phase in Phase:
        assert visibility.visible_fields(Viewer.ORGANIZER, phase, feedback) == set(Field)
