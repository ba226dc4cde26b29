"""Pauses: rejected uploads, continued scoring, optional new closing time."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.errors import OrganizerRefusal
from grader.models import AuditEntry
from grader.services.competitions import pauses
from grader.services.competitions.pauses import SubmissionsPaused
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.submissions import refusal

HOUR = timedelta(hours=1)


def pause(service, competition, message: str = "The labels are being checked", **options):
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


def test_files_accepted_before_a_pause_are_scored(service):
    competition = service.competition()
    accepted = service.submit(competition)
    pause(service, competition)
    service.score(accepted)
    assert service.submission(accepted).status == "scored"


def test_close_moves_together_with_the_pause(service):
    competition = service.competition(closes_at=service.now + 24 * HOUR)
    pause(service, competition, closes_at=service.now + 48 * HOUR)
    assert service.reload(competition).closes_at == service.now + 48 * HOUR
    resume(service, competition, closes_at=service.now + 72 * HOUR)
    assert service.reload(competition).closes_at == service.now + 72 * HOUR


def test_invalid_close_leaves_everything_unchanged(service):
    competition = service.competition(closes_at=service.now + 24 * HOUR)
    with pytest.raises(InvalidCompetition):
        pause(service, competition, closes_at=service.now - HOUR)
    assert service.reload(competition).paused_at is None


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
    began_text = began.isoformat()
    assert [(entry.action, entry.before, entry.after) for entry in entries] == [
        (
            "submissions.pause",
            {"paused_at": None, "pause_message": ""},
            {"paused_at": began_text, "pause_message": first},
        ),
        ("submissions.pause", {"pause_message": first}, {"pause_message": second}),
        (
            "submissions.resume",
            {"paused_at": began_text, "pause_message": second},
            {"paused_at": None, "pause_message": ""},
        ),
    ]
    assert {(entry.subject, entry.competition_id) for entry in entries} == {("submissions", competition.id)}
    assert [entry.at for entry in entries] == [began, service.now, service.now]
    resumed = service.reload(competition)
    assert (resumed.paused_at, resumed.pause_message) == (None, "")
    assert [entry.public_text for entry in entries] == [
        "Submissions were paused: The labels are being checked.",
        "Submissions were paused: It takes until tomorrow!",
        "Submissions were resumed.",
    ]
