"""Feedback settings: mode, step, lock at the opening."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Competition
from grader.services.competitions import drafts, lookup, settings_file
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.site.log import Actor
from grader.visibility import Feedback, Step

DAY = timedelta(days=1)
SHELL = Actor(None, "shell (tests)")


def change(service, competition: Competition, **changes):
    service.act(competition_settings.change, competition=competition, changes=changes, actor=SHELL)


def test_new_competition_shows_everything_and_an_existing_one_keeps_its_mode(service):
    assert settings_file.read("slug = 'next'").changes == {}
    with service.database.write() as session:
        fresh = drafts.create(
            session, slug="next", settings=CompetitionSettings(title="N"), actor=SHELL, now=service.now
        )
        assert fresh.feedback is Feedback.OPEN
        assert 'feedback = "open"' in settings_file.write("next", competition_settings.of(fresh))
    made = service.competition(opens_at=service.now + DAY, feedback=Feedback.TIERED)
    file = settings_file.read('title = "Renamed"', before=competition_settings.of(made))
    change(service, made, **file.changes)
    found = service.reload(made)
    assert (found.title, found.feedback) == ("Renamed", Feedback.TIERED)
    with service.database.write() as session:
        source = lookup.get(session, slug=made.slug)
        copy = drafts.clone(session, source=source, slug="copy", actor=SHELL, now=service.now)
        assert copy.feedback is Feedback.TIERED


def test_public_log_contains_mode_and_step(service):
    made = service.competition(opens_at=service.now + DAY)
    change(service, made, feedback=Feedback.TIERED)
    change(service, made, feedback_step=Step.OF_0_01)
    change(service, made, feedback=Feedback.BLIND)
    change(service, made, feedback_step=Step.OF_0_05)
    with service.database.read() as session:
        texts = session.scalars(select(AuditEntry.public_text).order_by(AuditEntry.id)).all()
    assert texts[-4:] == [
        "The feedback mode changed from open to tiered with a step of 0.002.",
        "The feedback mode changed from tiered with a step of 0.002 to tiered with a step of 0.01.",
        "The feedback mode changed from tiered with a step of 0.01 to blind.",
        "",
    ]


def test_mode_and_step_are_fixed_after_the_opening(service):
    made = service.competition(opens_at=service.now, closes_at=service.now + DAY)
    with pytest.raises(InvalidCompetition) as caught:
        change(service, made, feedback=Feedback.TIERED, feedback_step=Step.OF_0_01)
    assert [each.partition(" can ")[0] for each in caught.value.problems] == [
        "The feedback mode",
        "The feedback step",
    ]
