"""Pauses: rejected uploads, continued scoring, optional new closing time."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.errors import OrganizerRefusal
from grader.models import AuditEntry
from grader.services.competitions import pauses
from grader.services.competitions.pauses import SubmissionsPaused
from grader.services.submissions import refusal

HOUR = timedelta(hours=1)


def pause(service, competition, message="The labels are being checked", **options):
    service.act(pauses.pause, competition=competition, message=message, **options)


def resume(service, competition, **options):
    service.act(pauses.resume, competition=competition, **options)


def test_uploaders_see_the_pause_message_until_the_competition_is_resumed(service):
    competition = service.competition(max_daily_submissions=1)
    pause(service, competition)
    with pytest.raises(SubmissionsPaused, match=r"paused: The labels are being checked\. This upload"):
        service.submit(competition)
    assert refusal.of_phase(service.reload(competition), service.now)
    resume(service, competition)
    service.submit(competition)
    with service.database.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action.like("competition.%"))).all()
    assert {entry.competition_id for entry in entries} == {competition.id}


def test_pause_needs_a_message_and_resuming_needs_a_pause(service):
    competition = service.competition()
    with pytest.raises(OrganizerRefusal):
        pause(service, competition, message=" \n")
    with pytest.raises(OrganizerRefusal):
        resume(service, competition)


def test_pause_is_public_and_a_new_message_keeps_its_start(service):
    competition = service.competition()
    pause(service, competition)
    began = service.reload(competition).paused_at
    service.now += HOUR
    pause(service, competition, message="It takes until tomorrow!")
    paused = service.reload(competition)
    assert (paused.paused_at, paused.pause_message) == (began, "It takes until tomorrow!")
    resume(service, competition)
    with service.database.read() as session:
        entries = session.scalars(
            select(AuditEntry).where(AuditEntry.action.startswith("submissions.")).order_by(AuditEntry.id)
        ).all()
    first, second = "The labels are being checked.", "It takes until tomorrow!"
    assert [(entry.action, entry.after.get("pause_message")) for entry in entries] == [
        ("submissions.pause", first),
        ("submissions.pause", second),
        ("submissions.resume", ""),
    ]
    assert service.reload(competition).paused_at is None
    assert [entry.public_text for entry in entries] == [
        "Submissions were paused: The labels are being checked.",
        "Submissions were paused: It takes until tomorrow!",
        "Submissions were resumed.",
    ]
