"""Texts that resemble times, and times at the limits of the calendar."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from grader.models import AuditEntry, Team
from grader.text import utc

HERE = "/competitions/toxicity"
DESK = f"{HERE}/organize"
API = "/api/v1/competitions/toxicity/organize"
LATE, EARLY = "9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"


@pytest.fixture
def root(arena):
    arena.competition(closes_at=arena.now() + timedelta(days=30))
    arena.submit(arena.person("Ann"), arena.truth.predictions())
    return arena.person("Root", is_admin=True)


def test_a_team_name_that_looks_like_a_time_is_shown_unchanged(arena, root):
    name = LATE
    with arena.database.read() as session:
        team = session.scalars(select(Team)).first()
    assert root.confirm(f"{DESK}/teams/{team.id}/name", {"name": name, "reason": "x"}).status_code == 303
    changed = arena.app.test_client().patch(
        f"{API}/settings", json={"overview": name, "closes_at": "2031-01-31T12:00:00Z"}, headers=root.bearer
    )
    assert changed.status_code == 200, changed.text
    page = root.browser.get(f"{DESK}/audit").text
    assert page.count(name) == 4 and "31 Jan 2031, 12:00 UTC" in page
    with arena.database.read() as session:
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "competition.change")).one()
    assert entry.times is not None and "closes_at" in entry.times and "overview" not in entry.times


@pytest.mark.parametrize("time", [LATE, EARLY])
def test_a_time_outside_the_calendar_is_reported(arena, root, time):
    sent = [
        ("PATCH", f"{API}/settings", {"closes_at": time}),
        ("POST", f"{API}/close/selection", {"until": time, "reason": "x"}),
    ]
    for method, path, json in sent:
        answer = arena.app.test_client().open(path, method=method, json=json, headers=root.bearer)
        assert answer.status_code == 400, (path, answer.text)
        assert "1 to 9999" in answer.text or "year out of range" in answer.text


def test_an_entered_time_is_utc_or_a_value_error():
    assert utc(datetime(2030, 1, 1)) == datetime(2030, 1, 1, tzinfo=UTC)  # noqa: DTZ001
    for text in (LATE, EARLY):
        with pytest.raises(ValueError, match="1 to 9999"):
            utc(datetime.fromisoformat(text))
