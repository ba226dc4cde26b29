"""Notifications: events that create them, recipients, read marks."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, inspect, select, update

from grader.models import (
    Competition,
    EntryMode,
    Notification,
    NotificationRead,
    Participation,
    TeamMember,
    User,
)
from grader.services import notifications
from grader.services.accounts import accounts
from grader.services.audit.log import Actor
from grader.services.closing import close
from grader.services.competitions import announcements
from grader.services.moderation import decisions, disputes
from grader.services.paging import Part
from grader.services.rescoring import publication
from grader.services.teams import admissions, invitations, mergers, moderation, participations, teams
from tests.fixtures.rescorings import open_jobs
from tests.fixtures.statements import recorded

DAY = timedelta(days=1)
SHELL = Actor(None, "tests")


@pytest.fixture
def seen(service):
    """Return a user's notifications, oldest first, with a star for each unread one."""

    def lines(name: str) -> list[str]:
        with service.database.read() as session:
            found = notifications.slice_of(session, user=service.user(name), part=Part()).rows
            unread = notifications.unread_ids(session, user=service.user(name))
        return [f"{each.kind}{'*' if each.id in unread else ''}" for each in found[::-1]]

    return lines


def announce(service, competition, **given):
    options = {"title": "News", "body": "Text", "by_mail": False} | given
    return service.act(announcements.post, competition=competition, **options)


def test_every_event_of_a_competition_reaches_its_participants_once(service, seen, prepare_version):
    competition = service.competition(closes_at=service.now + DAY)
    accepted = service.submit(competition)
    service.score(accepted)
    of_all: dict[str, Any] = {"competition": competition}
    asked = service.act(
        disputes.ask, user=service.user("ada"), submission_id=accepted.submission.id, question="Why?"
    )
    service.act(disputes.answer, dispute_id=asked.id, answer="So.", **of_all)
    announce(service, competition)
    version = prepare_version(competition)
    with service.database.read() as session:
        waiting = open_jobs(session, scoring_version_id=version.id)
    service.run(*waiting)
    service.act(publication.publish, scoring_version_id=version.id)
    service.act(publication.roll_back, number=1, reason="Wrong.", **of_all)
    service.act(decisions.disqualify, team="ada", reason="Two accounts", **of_all)
    service.act(decisions.reinstate, team="ada", **of_all)
    service.act(moderation.rename, team="ada", name="Kings", reason="Rude", **of_all)
    service.act(moderation.free_name, team="Kings", **of_all)
    for _ in range(2):
        service.act(close.settle, competition=competition, after=2 * DAY)
    service.act(close.reveal, after=2 * DAY, **of_all)
    assert seen("ada") == [
        "answer*",
        "announcement*",
        "rescored*",
        "rolled_back*",
        "disqualified*",
        "reinstated*",
        "renamed*",
        "name_freed*",
        "closed*",
        "revealed*",
    ]
    service.user("eve")
    assert seen("eve") == []


def test_announcement_writes_one_row_and_is_already_read_by_its_author(service, seen):
    competition = service.competition()
    for name in ("ada", "bob", "cleo"):
        service.act(teams.create, competition=competition, user=service.user(name), name=name)
    with recorded(service.database) as sent:
        announce(service, competition, actor=Actor.of(service.user("bob")))
    # The second row records that the author has read it.
    assert sum("insert notification" in line for line in sent.lines) == 2
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Notification)) == 1
    assert [seen(name) for name in ("ada", "bob", "cleo")] == [
        ["announcement*"],
        ["announcement"],
        ["announcement*"],
    ]


def test_withdrawn_announcement_disappears_with_its_notification(service, seen):
    competition = service.competition()
    service.submit(competition)
    made = announce(service, competition)
    assert seen("ada") == ["announcement*"]
    service.act(announcements.withdraw, competition=competition, announcement_id=made.id)
    assert seen("ada") == []


def test_users_who_join_later_start_without_earlier_notifications(service, seen):
    competition = service.competition()
    service.submit(competition)
    announce(service, competition)
    service.act(teams.create, competition=competition, user=service.user("bob"), name="Late", after=DAY)
    assert (seen("ada"), seen("bob")) == (["announcement*"], [])


def test_leaving_a_team_or_the_competition_ends_the_access(service, seen):
    competition = service.competition()
    service.submit(competition)
    service.act(decisions.disqualify, competition=competition, team="ada", reason="Why")
    announce(service, competition)
    assert seen("ada") == ["disqualified*", "announcement*"]
    with service.database.write() as session:
        session.execute(delete(TeamMember))
    assert seen("ada") == ["announcement*"]
    with service.database.write() as session:
        session.execute(delete(Participation))
    assert seen("ada") == []


def test_entry_decision_reaches_only_the_applicant_even_if_declined(service, seen):
    competition = service.competition(entry_mode=EntryMode.APPROVAL)
    ada = service.user("ada")
    service.act(participations.join, competition=competition, user=ada)
    service.act(admissions.decide, competition=competition, user=ada, admits=True, actor=SHELL)
    service.act(admissions.decide, competition=competition, user=ada, admits=False, actor=SHELL)
    announce(service, competition)
    service.user("bob")
    assert (seen("ada"), seen("bob")) == (["admitted*", "refused*"], [])


def test_merger_transfers_a_teams_notifications(service, seen):
    competition = service.competition()
    people = {name: service.user(name) for name in ("ada", "bob", "cleo")}
    for name, user in people.items():
        service.act(teams.create, competition=competition, user=user, name=f"Team {name}")
    asked = service.act(mergers.request, competition=competition, user=people["ada"], name="Team cleo")
    service.act(mergers.refuse, competition=competition, user=people["cleo"], request_id=asked.id)
    service.act(moderation.rename, competition=competition, team="Team bob", name="B", reason="Rude")
    asked = service.act(mergers.request, competition=competition, user=people["ada"], name="B")
    service.act(mergers.accept, competition=competition, user=people["bob"], request_id=asked.id)
    assert seen("ada") == seen("bob") == ["merge_refused*", "renamed*", "merged*"]
    assert seen("cleo") == []


def test_team_with_notifications_can_end_and_its_last_member_can_delete_the_account(service):
    competition = service.competition()
    ada = service.user("ada")
    for name in ("Lovelace", "Byron"):
        service.act(teams.create, competition=competition, user=ada, name=name)
        given = {"competition": competition, "team": name}
        service.act(moderation.rename, name=f"{name} 2", reason="Rude", **given)
        with service.database.write() as session:
            notifications.mark_read(session, user=ada)
        service.act(teams.leave, competition=competition, user=ada)
    service.act(accounts.delete_account, user=ada, secret="s")
    with service.database.read() as session:
        assert session.scalars(select(Notification.id)).all() == []
        assert session.scalars(select(NotificationRead.user_id)).all() == []


def test_marking_as_read_affects_only_own_notifications(service, seen):
    competition = service.competition()
    ada, bob = service.user("ada"), service.user("bob")
    for user in (ada, bob):
        service.act(teams.create, competition=competition, user=user, name=user.name)
    for title in ("One", "Two", "Three"):
        announce(service, competition, title=title)
    service.act(decisions.disqualify, competition=competition, team="bob", reason="Why")
    with service.database.write() as session:
        ids = [each.id for each in notifications.slice_of(session, user=bob, part=Part()).rows]
        assert notifications.mark_read(session, user=ada, ids=[ids[0]]) == []  # Bob's team submitted it.
        for _ in range(2):
            (found,) = notifications.mark_read(session, user=ada, ids=[ids[-1], 10**9])
            assert found.announcement.title == "One"
    assert seen("ada") == ["announcement", "announcement*", "announcement*"]
    assert seen("bob") == ["announcement*"] * 3 + ["disqualified*"]
    with service.database.write() as session:
        notifications.mark_read(session, user=ada)
        assert notifications.unread_ids(session, user=ada) == set()
        assert notifications.unread_ids(session, user=bob) == set(ids)


def test_deleted_account_leaves_no_personal_notification(service):
    competition = service.competition(entry_mode=EntryMode.APPROVAL)
    ada = service.user("ada")
    service.act(participations.join, competition=competition, user=ada)
    service.act(admissions.decide, competition=competition, user=ada, admits=True, actor=SHELL)
    announce(service, competition)
    with service.database.write() as session:
        notifications.mark_read(session, user=ada)
    service.act(accounts.delete_account, user=ada, secret="s")
    with service.database.read() as session:
        assert session.scalars(select(Notification.kind)).all() == ["announcement"]
        assert session.scalars(select(NotificationRead.user_id)).all() == []
        assert session.get_one(User, ada.id).deleted_at is not None


def test_standings_recomputed_after_an_upgrade_notify_no_one_again(service, seen):
    competition = service.competition(closes_at=service.now + DAY)
    service.score(service.submit(competition))
    for _ in range(2):
        service.act(close.settle, competition=competition, after=2 * DAY)
        with service.database.write() as session:
            session.execute(update(Competition).values(settled_at=None))
    assert seen("ada") == ["closed*"]


def test_list_does_not_load_the_competitions_texts(service):
    competition = service.competition()
    service.submit(competition)
    announce(service, competition)
    with service.database.read() as session:
        (found,) = notifications.slice_of(session, user=service.user("ada"), part=Part()).rows
    assert (found.competition.title, found.announcement.title) == (competition.title, "News")
    assert "overview" in inspect(found.competition).unloaded
    assert "body" in inspect(found.announcement).unloaded


def test_invitation_is_shown_as_a_pending_item_and_not_also_as_a_notification(service, seen):
    competition = service.competition()
    service.act(teams.create, competition=competition, user=service.user("ada"), name="Duo")
    service.user("bob")
    service.act(invitations.invite, competition=competition, user=service.user("ada"), name="bob")
    assert seen("bob") == []
