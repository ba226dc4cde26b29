"""Webhook events: recipients, and deletion with their team, user or draft."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import Competition, CompetitionState, Team, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.accounts import accounts
from grader.services.competitions import announcements
from grader.services.teams import rosters, teams
from grader.services.webhook_outbox import EVENTS, Event
from grader.services.webhooks import subscriptions, timed_events
from grader.services.webhooks.subscriptions import (
    MOST_OF_ORGANIZERS,
    AddressRules,
    TooManyWebhooks,
    WebhookFields,
)
from tests.fixtures.receivers import deliveries, subscribe

URL = "https://board.example/"


@pytest.fixture
def competition(service) -> Competition:
    """A competition in which Ada and Bob each have a team, and no file has been scored."""
    competition: Competition = service.competition()
    for place, name in enumerate(("ada", "bob")):
        service.submit(competition, user=name, seed=place)
    return competition


@pytest.fixture
def of_team(service, competition: Competition) -> Webhook:
    """A webhook of Ada's team."""
    with service.database.read() as session:
        team = session.scalars(select(Team).where(Team.name == "ada")).one()
    return subscribe(service, competition, service.user("ada"), URL, team=team)


@pytest.fixture
def of_organizers(service, competition: Competition) -> Webhook:
    """A webhook of the organizers."""
    return subscribe(service, competition, service.user("olga", is_admin=True), URL)


def events(service, webhook: Webhook) -> list[str]:
    """Return the events that a webhook has sent or will send."""
    return [row.event for row in deliveries(service.database) if row.webhook_id == webhook.id]


def test_score_event_goes_to_the_team_and_the_organizers(
    service, competition: Competition, of_team: Webhook, of_organizers: Webhook
):
    service.score(service.submit(competition, user="bob", seed=3))
    assert (events(service, of_team), events(service, of_organizers)) == ([], ["submission.scored"])
    service.score(service.submit(competition, user="ada", seed=4))
    service.score(service.submit(competition, user="ada", csv=b"id,prediction\nx,1\n"))
    assert events(service, of_team) == ["submission.scored", "submission.rejected"]
    assert len(events(service, of_organizers)) == 3


def test_announcements_and_the_reveal_go_to_all_webhooks(
    service, competition: Competition, of_team: Webhook, of_organizers: Webhook
):
    service.act(announcements.post, competition=competition, title="News", body="x", by_mail=False)
    service.act(outbox.tell, competition_id=competition.id, event=Event.REVEALED)
    for webhook in (of_team, of_organizers):
        assert events(service, webhook) == ["announcement.posted", "leaderboard.revealed"]


def test_nothing_is_written_for_unselected_events_or_disabled_webhooks(
    service, competition: Competition, of_team: Webhook
):
    owner = service.user("olga", is_admin=True)
    subscribe(service, competition, owner, URL, events=("deadline.near",))
    ada = service.user("ada")
    service.act(subscriptions.switch, competition=competition, user=ada, webhook=of_team, is_on=False)
    service.score(service.submit(competition, user="ada", seed=4))
    assert deliveries(service.database) == []


def test_rolled_back_transaction_writes_no_event(service, competition: Competition, of_team: Webhook):
    with pytest.raises(RuntimeError), service.database.write() as session:
        outbox.tell(session, competition_id=competition.id, event=Event.REVEALED, now=service.now)
        raise RuntimeError
    assert deliveries(service.database) == []


def keep_dates(service, closes_in: timedelta):
    """Run the scheduled tasks at a given time before the close."""
    with service.database.write() as session:
        competition = session.scalars(select(Competition)).one()
        competition.closes_at = service.now + closes_in
        session.flush()
        if timed_events.is_deadline_near(session, now=service.now):
            timed_events.tell_deadlines(session, now=service.now)
            assert not timed_events.is_deadline_near(session, now=service.now)


def test_deadline_event_is_sent_once_a_day_before_and_again_after_a_change(
    service, competition: Competition, of_team: Webhook
):
    keep_dates(service, timedelta(hours=25))
    assert events(service, of_team) == []
    keep_dates(service, timedelta(hours=24))
    keep_dates(service, timedelta(hours=24))
    assert events(service, of_team) == ["deadline.near"]
    keep_dates(service, timedelta(hours=23))
    assert events(service, of_team) == ["deadline.near"] * 2
    keep_dates(service, -timedelta(hours=1))
    assert events(service, of_team) == ["deadline.near"] * 2


def test_draft_has_no_deadline_events(service, competition: Competition, of_team: Webhook):
    with service.database.write() as session:
        session.get_one(Competition, competition.id).state = CompetitionState.DRAFT
    keep_dates(service, timedelta(hours=1))
    assert events(service, of_team) == []


def test_number_of_organizers_webhooks_is_limited(service, competition: Competition):
    owner = service.user("olga", is_admin=True)
    for _ in range(MOST_OF_ORGANIZERS):
        subscribe(service, competition, owner, URL)
    with pytest.raises(TooManyWebhooks):
        subscribe(service, competition, owner, URL)


def test_webhooks_of_a_deleted_account_are_deleted_with_their_queue(
    service, competition: Competition, of_team: Webhook, of_organizers: Webhook
):
    service.act(outbox.tell, competition_id=competition.id, event=Event.REVEALED)
    service.act(accounts.delete_account, user=service.user("ada"), secret="s")
    with service.database.read() as session:
        assert [each.id for each in session.scalars(select(Webhook))] == [of_organizers.id]
    assert [row.webhook_id for row in deliveries(service.database)] == [of_organizers.id]


def test_webhooks_of_a_deleted_team_are_deleted(service):
    competition, ada = service.competition(), service.user("ada")
    team = service.act(teams.create, competition=competition, user=ada, name="Aces")
    subscribe(service, competition, ada, URL, team=team)
    with service.database.write() as session:
        rosters.remove_member(session, team=team, user=ada)
    with service.database.read() as session:
        assert session.scalars(select(Webhook)).all() == []


def test_webhooks_of_a_merged_team_move_to_the_new_team(service, competition: Competition, of_team: Webhook):
    with service.database.write() as session:
        ada, bob = session.scalars(select(Team).order_by(Team.id)).all()
        outbox.follow_merger(session, taken=ada, into=bob)
    with service.database.read() as session:
        assert session.scalars(select(Webhook)).one().team_id == bob.id


def test_queued_events_are_not_sent_after_a_restore(service, competition: Competition, of_team: Webhook):
    with service.database.write() as session:
        outbox.tell(session, competition_id=competition.id, event=Event.REVEALED, now=service.now)
        assert outbox.something_waits(session, now=service.now)
        outbox.give_up_all(session, now=service.now)
        assert not outbox.something_waits(session, now=service.now)


def test_user_who_edits_a_webhook_becomes_its_owner(
    service, competition: Competition, of_organizers: Webhook
):
    root = service.user("root", is_admin=True)
    service.act(
        subscriptions.change,
        competition=competition,
        user=root,
        webhook=of_organizers,
        wanted=WebhookFields("", EVENTS),
        rules=AddressRules(),
    )
    with service.database.read() as session:
        assert session.scalars(select(Webhook)).one().owner_id == root.id
