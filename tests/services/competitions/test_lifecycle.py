"""Competition lifecycle: draft, published, revealed, archived, and preconditions."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.errors import OrganizerRefusal
from grader.models import AuditEntry, Competition, CompetitionState
from grader.services.closing import close
from grader.services.competitions import acting, lifecycle, lookup, phases
from grader.services.competitions.lifecycle import NotReady
from grader.services.competitions.phases import Archived
from grader.services.site.log import Actor
from grader.visibility import Phase
from tests.fixtures.refusals import refused

TESTS = Actor(None, "tests")
DAY = timedelta(days=1)


def change(service, competition, **columns):
    with service.database.write() as session:
        found = session.get_one(Competition, competition.id)
        for name, value in columns.items():
            setattr(found, name, value)


@pytest.fixture
def draft(service):
    """A complete draft."""
    competition = service.competition(opens_at=service.now + DAY, closes_at=service.now + 30 * DAY)
    change(service, competition, state=CompetitionState.DRAFT)
    return competition


def test_publishing_reports_all_missing_items_at_once(service, draft):
    change(
        service,
        draft,
        live_scoring_version_id=None,
        title="",
        contact="",
        closes_at=service.now - DAY,
        max_team_size=0,
    )
    with pytest.raises(NotReady) as refused:
        service.act(lifecycle.publish, competition=draft)
    named = {name for fault in refused.value.faults for name in fault.names}
    assert named > {"solution", "title", "contact", "closes_at", "max_team_size"}
    assert service.reload(draft).state is CompetitionState.DRAFT


@pytest.mark.parametrize("phase", [Phase.OPEN, Phase.REVEALED])
def test_archived_competition_is_over_accepts_no_files_and_is_restored_unchanged(service, phase):
    competition = service.competition()
    if phase is Phase.REVEALED:
        service.reveal(competition)
    before = service.reload(competition).state
    service.act(lifecycle.archive, competition=competition, reason="It is old.")
    archived = service.reload(competition)
    expected = Phase.REVEALED if phase is Phase.REVEALED else Phase.CLOSED
    assert phases.phase(archived, service.now) is expected
    with refused("competition_archived"):
        service.submit(competition)
    service.act(lifecycle.unarchive, competition=competition)
    found = service.reload(competition)
    assert (found.state, phases.phase(found, service.now)) == (before, phase)
    service.submit(competition)


def test_uploaders_see_the_public_pause_message_until_the_competition_is_resumed(service):
    competition = service.competition()
    for act, given in ((lifecycle.pause, {"message": " \n"}), (lifecycle.resume, {})):
        with pytest.raises(OrganizerRefusal):
            service.act(act, competition=competition, **given)
    service.act(lifecycle.pause, competition=competition, message="The labels are being checked")
    began = service.reload(competition).paused_at
    with refused("submissions_paused", match=r"paused: The labels are being checked\."):
        service.submit(competition)
    service.now += DAY
    service.act(lifecycle.pause, competition=competition, message="It takes until tomorrow!")
    assert service.reload(competition).paused_at == began
    service.act(lifecycle.resume, competition=competition)
    service.submit(competition)
    with service.database.read() as session:
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action.startswith("submissions.")))
        assert [entry.is_public for entry in entries] == [True] * 3


def test_archived_competition_cannot_be_revealed(service):
    competition = service.competition(closes_at=service.now + DAY)
    service.act(lifecycle.archive, competition=competition)
    with pytest.raises(Archived):
        service.act(close.reveal, competition=competition)
    with service.database.read() as session:
        assert close.due(session, now=service.now + 100 * DAY) == []
        assert close.unsettled(session, now=service.now + 100 * DAY) == []


def test_invalid_steps_are_rejected(service, draft):
    with pytest.raises(OrganizerRefusal):
        service.act(lifecycle.archive, competition=draft)
    with pytest.raises(OrganizerRefusal):
        service.act(lifecycle.unarchive, competition=draft)
    competition = service.competition("other")
    service.act(lifecycle.archive, competition=competition)
    with pytest.raises(Archived):
        service.act(lifecycle.archive, competition=competition)


def test_draft_without_an_opening_opens_when_it_is_published(service, draft):
    with service.database.write() as session:
        competition = lookup.get(session, slug=draft.slug)
        competition.opens_at = competition.entry_deadline = None
        lifecycle.publish(acting.begin(session, competition=competition, actor=TESTS, now=service.now))
    published = service.reload(draft)
    assert published.opens_at == service.now
    assert published.entry_deadline is not None
