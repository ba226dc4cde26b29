"""Who sees what when."""

import itertools

import pytest

from grader.leaderboard.visibility import Field, Phase, Viewer, visible, visible_fields

PRIVATE = {Field.PRIVATE_SCORE, Field.PRIVATE_TERMS, Field.PRIVATE_IDENTITIES}
PARTICIPANTS = (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM)
BEFORE = (Phase.SCHEDULED, Phase.OPEN, Phase.CLOSED)


@pytest.mark.parametrize("phase", BEFORE)
@pytest.mark.parametrize("viewer", PARTICIPANTS)
def test_no_participant_sees_anything_private_before_the_reveal(viewer: Viewer, phase: Phase) -> None:
    assert not visible_fields(viewer, phase) & PRIVATE


@pytest.mark.parametrize("viewer", Viewer)
def test_everybody_sees_scores_and_tables_of_both_splits_after_the_reveal(viewer: Viewer) -> None:
    assert visible_fields(viewer, Phase.REVEALED) >= set(Field) - {Field.FILE}


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("viewer", Viewer)
def test_everybody_sees_the_public_score_and_its_terms_always(viewer: Viewer, phase: Phase) -> None:
    assert {Field.PUBLIC_SCORE, Field.PUBLIC_TERMS} <= visible_fields(viewer, phase)


@pytest.mark.parametrize("phase", BEFORE)
def test_only_the_team_and_organizers_see_the_public_table_before_the_reveal(phase: Phase) -> None:
    seeing = {viewer for viewer in Viewer if visible(Field.PUBLIC_IDENTITIES, viewer, phase)}
    assert seeing == {Viewer.TEAM, Viewer.ORGANIZER}


@pytest.mark.parametrize("phase", Phase)
def test_files_problems_and_descriptions_are_the_teams_and_the_organizers(phase: Phase) -> None:
    assert {viewer for viewer in Viewer if visible(Field.FILE, viewer, phase)} == {
        Viewer.TEAM,
        Viewer.ORGANIZER,
    }


@pytest.mark.parametrize("phase", Phase)
def test_nobody_sees_more_than_the_organizer_or_less_than_the_public(phase: Phase) -> None:
    ladder = [
        visible_fields(viewer, phase)
        for viewer in (Viewer.PUBLIC, Viewer.PARTICIPANT, Viewer.TEAM, Viewer.ORGANIZER)
    ]
    assert all(less <= more for less, more in itertools.pairwise(ladder))
