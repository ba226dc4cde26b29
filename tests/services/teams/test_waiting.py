"""Open requests on which a user decides, across all competitions."""

from datetime import timedelta

import pytest

from grader.models import EntryMode, Role
from grader.services.competitions import organizers
from grader.services.teams import invitations, mergers, participations, teams, waiting
from tests.fixtures.service import TESTS

DAY = timedelta(days=1)


@pytest.fixture
def waits(service):
    """Return a user's waiting items as short strings."""

    def lines(user: str, *, after=timedelta(), **options) -> list[str]:
        who = service.user(user, **options)
        with service.database.read() as session:
            found = waiting.requests(session, user=who, now=service.now + after)
        return [
            " ".join(filter(None, [e.kind, e.competition, str(e.count), e.team, e.person])) for e in found
        ]

    return lines


def make_editor(service, competition, name, role=Role.EDITOR):
    service.act(organizers.add, competition=competition, user=service.user(name), role=role, actor=TESTS)


def test_merge_request_waits_for_the_other_teams_leader(service, act, waits):
    competition = service.competition()
    for name in ("ada", "bob"):
        act(teams.create, competition, name, name=f"Team {name}")
    act(invitations.accept_link, competition, "cleo", token=act(invitations.make_link, competition, "bob"))
    asked = act(mergers.request, competition, "ada", name="Team bob")
    assert waits("bob") == ["merger toxicity 1 Team ada ada"]
    assert waits("ada") == waits("cleo") == []
    act(mergers.refuse, competition, "bob", request_id=asked.id)
    assert waits("bob") == []


@pytest.mark.parametrize("end", ["merger_deadline", "closes_at"])
def test_item_that_can_no_longer_be_accepted_is_not_listed(service, act, waits, end):
    dates = {"closes_at": service.now + 20 * DAY, "merger_deadline": None, end: service.now + 10 * DAY}
    if end == "closes_at":
        dates["merger_deadline"] = dates["closes_at"]
    competition = service.competition(**dates)
    for name in ("ada", "bob"):
        act(teams.create, competition, name, name=f"Team {name}")
    act(mergers.request, competition, "ada", name="Team bob")
    assert len(waits("bob", after=9 * DAY)) == 1
    assert waits("bob", after=10 * DAY) == []


def test_entry_request_waits_for_users_who_may_decide(service, act, waits):
    competition = service.competition(entry_mode=EntryMode.APPROVAL)
    make_editor(service, competition, "edda")
    make_editor(service, competition, "vera", Role.VIEWER)
    for name in ("ada", "bob"):
        act(participations.join, competition, name)
    assert waits("edda") == waits("root", is_admin=True) == ["entry toxicity 2"]
    assert waits("vera") == waits("ada") == []
    for name in ("ada", "bob"):
        service.act(
            participations.decide, competition=competition, user=service.user(name), admits=True, actor=TESTS
        )
    assert waits("edda") == []


def test_oldest_items_are_listed_first_across_competitions(service, act, waits):
    for place, slug in enumerate(("later", "sooner")):
        competition = service.competition(slug)
        for name in ("ada", "bob"):
            act(teams.create, competition, name, name=f"Team {name}")
        act(mergers.request, competition, "ada", name="Team bob", after=-place * timedelta(hours=1))
    assert [line.split()[1] for line in waits("bob")] == ["sooner", "later"]
