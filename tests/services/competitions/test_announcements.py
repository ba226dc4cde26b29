"""Announcements: readers and e-mail recipients."""

import pytest
from sqlalchemy import event, select

from grader.errors import OrganizerRefusal
from grader.models import Mail, User
from grader.services.competitions import announcements
from grader.services.teams import participations


def post(service, competition, **given):
    options = {"title": "New data", "body": "See **Data**.", "by_mail": False} | given
    return service.act(announcements.post, competition=competition, **options)


def withdraw(service, competition, announcement_id):
    service.act(announcements.withdraw, competition=competition, announcement_id=announcement_id)


def shown(service, competition):
    with service.database.read() as session:
        return [each.title for each in announcements.shown(session, competition=competition)]


def test_newest_is_listed_first_and_a_withdrawn_one_is_hidden(service):
    competition = service.competition()
    first = post(service, competition, title="First")
    post(service, competition, title="Second")
    assert shown(service, competition) == ["Second", "First"]
    withdraw(service, competition, first.id)
    assert shown(service, competition) == ["Second"]
    with pytest.raises(OrganizerRefusal):
        withdraw(service, competition, first.id)
    with service.database.read() as session:
        assert len(announcements.list_all(session, competition=competition)) == 2


def test_announcement_is_mailed_to_subscribed_participants_with_an_address(service):
    competition = service.competition()
    service.submit(competition)
    service.submit(competition, user="bob")
    people = {name: service.user(name) for name in ("ada", "bob", "joined", "stranger")}
    service.verify_addresses(*people)
    service.act(participations.join, competition=competition, user=people["joined"])
    with service.database.write() as session:
        session.get_one(User, people["bob"].id).unwanted_notices = ["organizer"]
    post(service, competition, by_mail=True)
    post(service, competition, title="Not by mail")
    with service.database.read() as session:
        mails = session.execute(select(Mail.to_address, Mail.subject)).all()
    assert sorted(mails) == [
        ("ada@example.org", "Toxicity: New data"),
        ("joined@example.org", "Toxicity: New data"),
    ]


def test_mails_to_many_recipients_are_written_in_a_few_statements(service):
    competition = service.competition()
    names = [f"user{number}" for number in range(40)]
    service.verify_addresses(*names)
    for name in names:
        service.act(participations.join, competition=competition, user=service.user(name))
    statements: list[str] = []
    event.listen(service.database.engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    post(service, competition, by_mail=True)
    assert len(statements) < 15


def test_announcement_needs_a_title_and_a_text(service):
    for given in ({"title": " "}, {"body": "\n"}):
        with pytest.raises(OrganizerRefusal):
            post(service, service.competition(next(iter(given))), **given)
