"""Competitions: creation, lookup, phases."""

from datetime import timedelta

import pytest

from grader.services.competitions import lookup, phases
from grader.services.competitions.lookup import UnknownCompetition
from grader.visibility import Phase

HOUR = timedelta(hours=1)


@pytest.mark.both_databases
def test_phase_changes_exactly_at_the_dates(service):
    competition = service.competition(opens_at=service.now + HOUR, closes_at=service.now + 2 * HOUR)
    tick = timedelta(microseconds=1)
    for after, phase in [
        (HOUR - tick, Phase.SCHEDULED),
        (HOUR, Phase.OPEN),
        (2 * HOUR - tick, Phase.OPEN),
        (2 * HOUR, Phase.CLOSED),
    ]:
        assert phases.phase(competition, service.now + after) is phase


BAD = ["", "Toxicity", "a b", "-a", "a-", "ü", "a" * 41, "a/b", "a\n", "list", "submission-url"]


@pytest.mark.parametrize("slug", BAD)
def test_slug_that_is_invalid_or_used_by_the_api_is_rejected(slug):
    assert lookup.slug_fault(slug)
    assert not lookup.slug_fault("a-1")


@pytest.mark.both_databases
def test_competitions_are_found_by_slug_and_listed_newest_first(service):
    service.competition("first")
    service.competition("second", now=service.now + HOUR)
    with service.database.read() as session:
        assert [each.slug for each in lookup.list_all(session)] == ["second", "first"]
        assert lookup.get(session, slug="first").title == "Toxicity"
        for unknown in ("third", "FIRST", "a\0b"):
            with pytest.raises(UnknownCompetition):
                lookup.get(session, slug=unknown)
