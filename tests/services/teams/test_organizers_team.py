"""Organizers' test submissions: accepted at any time, scored, unranked."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader.models import Organizer, Role, Standing, SubmissionKind, Team
from grader.services.competitions import lifecycle, organizers
from grader.services.site.paging import FIRST
from grader.services.submissions import accepting
from grader.services.submissions.accepting import UnknownSubmission
from grader.services.teams import rosters

HOUR = timedelta(hours=1)


def make_organizer(service, competition, name, role=Role.VIEWER):
    user = service.user(name)
    with service.database.write() as session:
        session.add(
            Organizer(competition_id=competition.id, user_id=user.id, role=role, added_at=service.now)
        )


@pytest.mark.parametrize("is_admin", [False, True])
def test_organizers_file_is_hidden_uses_no_limit_and_is_scored(service, is_admin):
    competition = service.competition(max_daily_submissions=1, rules="Be fair.")
    service.user("rosa", is_admin=is_admin)
    if not is_admin:
        make_organizer(service, competition, "rosa")
    sent = [service.submit(competition, user="rosa", seed=seed) for seed in range(3)]
    service.score(*sent)
    found = [service.submission(each) for each in sent]
    assert {each.kind for each in found} == {SubmissionKind.HIDDEN}
    assert {each.status.value for each in found} == {"scored"}
    assert {each.slot_day for each in found} == {None}
    assert len({each.team_id for each in found}) == 1
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Standing)) == 0


def test_organizers_can_test_before_the_opening_and_during_a_pause_and_share_files(service):
    competition = service.competition(opens_at=service.now + HOUR)
    make_organizer(service, competition, "rosa")
    make_organizer(service, competition, "other")
    service.act(lifecycle.pause, competition=competition, message="Wait.")
    accepted = service.submit(competition, user="rosa")
    with service.database.read() as session:
        for name in ("rosa", "other"):
            user = service.user(name)
            role = organizers.role_of(session, competition=competition, user=user)
            team = accepting.team_of(session, competition=competition, user=user, role=role)
            mine = accepting.slice_of(session, team=team, part=FIRST)
            assert [each.id for each in mine.rows] == [accepted.submission.id]
        with pytest.raises(UnknownSubmission):
            accepting.get_own(session, user=service.user("eve"), submission_id=accepted.submission.id)


def test_organizers_team_uses_a_free_name(service):
    competition = service.competition()
    accepted = service.submit(competition)
    with service.database.write() as session:  # This account was created before the name was reserved.
        rosters.set_name(session.get_one(Team, accepted.submission.team_id), "Organizers")
    make_organizer(service, competition, "rosa")
    accepted = service.submit(competition, user="rosa")
    assert accepted.submission.team.name == "Organizers (2)"
    assert accepted.submission.team.is_organizers
