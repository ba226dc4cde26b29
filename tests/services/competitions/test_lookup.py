"""Competitions: creation, lookup, phases."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader.models import ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup, phases
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.visibility import Phase

HOUR = timedelta(hours=1)


def test_new_competition_is_open_immediately_under_scoring_version_one(service):
    competition = service.reload(service.competition())
    assert phases.phase(competition, service.now) is Phase.OPEN
    assert phases.phase(competition, service.now + timedelta(days=9999)) is Phase.OPEN
    version = lookup.live(competition)
    assert (version.number, version.state) == (1, ScoringVersionState.LIVE)
    assert version.solution.public_row_count == 200
    assert version.metric_settings["identities"] == ["female", "muslim"]


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


@pytest.mark.parametrize("slug", ["", "Toxicity", "a b", "-a", "a-", "ü", "a" * 41, "a/b", "a\n"])
def test_slug_that_is_invalid_in_an_address_is_rejected(service, slug: str):
    with pytest.raises(InvalidCompetition, match="lowercase letters"):
        service.competition(slug)


@pytest.mark.parametrize("slug", ["list", "data", "submissions", "submission-url"])
def test_slugs_used_by_the_api_are_reserved(service, slug: str):
    with pytest.raises(InvalidCompetition, match="reserved"):
        service.competition(slug)


def test_all_problems_of_a_competition_are_reported_at_once(service):
    service.competition()
    with pytest.raises(InvalidCompetition) as caught:
        service.competition(title=" ", opens_at=service.now, closes_at=service.now)
    assert len(caught.value.problems) == 3
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(ScoringVersion)) == 1


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
