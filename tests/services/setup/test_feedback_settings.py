"""Feedback settings: mode, step, lock at the opening, secret key."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Competition
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.setup import drafts, lifecycle, settings_file
from grader.visibility import Feedback, Step

DAY = timedelta(days=1)
SHELL = Actor(None, "shell (tests)")


def change(service, competition: Competition, **changes):
    with service.database.write() as session:
        competition_settings.change(
            session, competition=competition, changes=changes, actor=SHELL, now=service.now
        )


def forget_key(service, competition: Competition):
    with service.database.write() as session:
        lookup.get(session, slug=competition.slug).feedback_key = None


def test_each_competition_and_each_copy_has_its_own_key(service):
    source = service.competition()
    with service.database.write() as session:
        source = lookup.get(session, slug=source.slug)
        copy = drafts.clone(session, source=source, slug="copy", actor=SHELL, now=service.now)
        fresh = drafts.create(
            session, slug="next", settings=CompetitionSettings(title="N"), actor=SHELL, now=service.now
        )
        keys = {each.feedback_key for each in (source, copy, fresh)}
    assert len(keys) == 3
    assert all(key and re.fullmatch("[0-9a-f]{64}", key) for key in keys)


def test_new_competition_shows_everything_and_an_existing_one_keeps_its_mode(service):
    assert settings_file.read("slug = 'next'").changes == {}
    with service.database.write() as session:
        fresh = drafts.create(
            session, slug="next", settings=CompetitionSettings(title="N"), actor=SHELL, now=service.now
        )
        assert fresh.feedback is Feedback.OPEN
        assert 'feedback = "open"' in settings_file.write("next", competition_settings.of(fresh))
    made = service.competition(opens_at=service.now + DAY, feedback=Feedback.LADDER)
    file = settings_file.read('title = "Renamed"', before=competition_settings.of(made))
    change(service, made, **file.changes)
    found = service.reload(made)
    assert (found.title, found.feedback) == ("Renamed", Feedback.LADDER)
    with service.database.write() as session:
        source = lookup.get(session, slug=made.slug)
        copy = drafts.clone(session, source=source, slug="copy", actor=SHELL, now=service.now)
        assert copy.feedback is Feedback.LADDER


def test_change_keeps_the_key_and_a_competition_without_a_key_receives_one(service):
    made = service.competition(opens_at=service.now + DAY)
    key = made.feedback_key
    change(service, made, feedback=Feedback.NOISED)
    assert service.reload(made).feedback_key == key
    forget_key(service, made)
    change(service, made, feedback=Feedback.LADDER)
    assert len(service.reload(made).feedback_key) == 64


def test_draft_without_a_key_receives_one_when_it_is_published(service):
    with service.database.write() as session:
        source = lookup.get(session, slug=service.competition().slug)
        draft = drafts.clone(session, source=source, slug="next", actor=SHELL, now=service.now)
        draft.live_scoring_version, draft.feedback_key = source.live_scoring_version, None
        lifecycle.publish(session, competition=draft, actor=SHELL, now=service.now)
        assert len(draft.feedback_key or "") == 64


def test_key_is_not_in_settings_files_or_audit_entries(service):
    made = service.competition(opens_at=service.now + DAY)
    forget_key(service, made)
    change(service, made, feedback=Feedback.LADDER, feedback_step=Step.OF_0_01)
    found = service.reload(made)
    written = settings_file.write(found.slug, competition_settings.of(found))
    assert 'feedback = "ladder"' in written
    assert 'feedback_step = "0.01"' in written
    with service.database.read() as session:
        told = [
            f"{each.before} {each.after} {each.public_text}" for each in session.scalars(select(AuditEntry))
        ]
    assert not any(found.feedback_key in text for text in [written, *told])


def test_public_log_contains_mode_and_step(service):
    made = service.competition(opens_at=service.now + DAY)
    change(service, made, feedback=Feedback.LADDER)
    change(service, made, feedback_step=Step.OF_0_01)
    change(service, made, feedback=Feedback.BLIND)
    change(service, made, feedback_step=Step.OF_0_05)
    with service.database.read() as session:
        texts = session.scalars(select(AuditEntry.public_text).order_by(AuditEntry.id)).all()
    assert texts[-4:] == [
        "The feedback mode changed from open to ladder with a step of 0.002.",
        "The feedback mode changed from ladder with a step of 0.002 to ladder with a step of 0.01.",
        "The feedback mode changed from ladder with a step of 0.01 to blind.",
        "",
    ]


def test_mode_and_step_are_fixed_after_the_opening(service):
    made = service.competition(opens_at=service.now, closes_at=service.now + DAY)
    with pytest.raises(InvalidCompetition) as caught:
        change(service, made, feedback=Feedback.LADDER, feedback_step=Step.OF_0_01)
    assert [each.partition(" can ")[0] for each in caught.value.problems] == [
        "The feedback mode",
        "The feedback step",
    ]
