"""Steps of the close: closed, settled, revealed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select, update

from grader.models import (
    AuditEntry,
    Competition,
    CompetitionState,
    Mail,
    Split,
    Standing,
    Submission,
    SubmissionStatus,
    Team,
    User,
)
from grader.services.closing import close as closing
from grader.services.closing.close import AlreadyRevealed, NotClosed, ScoringPending
from grader.services.competitions import lookup, phases
from grader.services.competitions.phases import Stage
from grader.services.leaderboards import team_results
from grader.services.leaderboards.board import BoardNotRevealed
from grader.services.teams import divisions
from grader.visibility import Phase
from grader.worker.scheduled_tasks import run_calendar
from tests.fixtures.refusals import refused

HOUR = timedelta(hours=1)
WEEK = timedelta(days=7)


def reveal(service, competition, after=timedelta()):
    return service.act(closing.reveal, competition=competition, after=after)


def close_now(service, competition, after=timedelta()):
    return service.act(closing.close_now, competition=competition, after=after)


def settle(service, competition, after):
    service.act(closing.settle, competition=competition, after=after)


def standings(service, split):
    with service.database.read() as session:
        rows = session.execute(
            select(Standing.team_id, Standing.submission_id, Standing.score_units)
            .where(Standing.split == split)
            .order_by(Standing.team_id)
        )
        return [tuple(row) for row in rows]


def own_results(service, competition, name, phase=Phase.REVEALED):
    from grader.services.teams import rosters

    with service.database.read() as session:
        competition = lookup.get(session, slug=competition.slug)
        team = rosters.find_team(session, competition=competition, user=service.user(name))
        return team_results.of_team(session, competition=competition, team=team, phase=phase)


def test_reveal_writes_the_private_standings_and_closes_open_items(service):
    competition = service.competition()
    for name in ("ada", "bob"):
        service.score(service.submit(competition, user=name))
    with service.database.read() as session:
        assert set(session.scalars(select(Standing.split))) == {Split.PUBLIC}
    reveal(service, competition, HOUR)
    competition = service.reload(competition)
    assert competition.closes_at == competition.revealed_at == service.now + HOUR
    assert phases.phase(competition, service.now) is Phase.REVEALED
    with service.database.read() as session:
        assert session.scalar(select(func.count()).where(Standing.split == Split.PRIVATE)) == 2


def test_reveal_of_an_open_competition_ends_entry_and_mergers(service):
    competition = service.competition(closes_at=service.now + WEEK, entry_deadline=service.now + 2 * HOUR)
    service.score(service.submit(competition))
    reveal(service, competition, HOUR)
    revealed = service.reload(competition)
    assert revealed.closes_at == revealed.entry_deadline == revealed.merger_deadline == service.now + HOUR


def test_reveal_waits_for_pending_submissions_and_reports_their_number(service):
    competition = service.competition()
    waiting = [service.submit(competition, seed=seed) for seed in range(2)]
    with pytest.raises(ScoringPending, match="2 submissions are still being scored") as caught:
        reveal(service, competition)
    assert caught.value.count == 2
    service.score(*waiting)
    reveal(service, competition)
    with pytest.raises(AlreadyRevealed):
        reveal(service, competition)


def test_close_proceeds_from_running_to_closed_settled_and_revealed(service):
    competition = service.competition(closes_at=service.now + HOUR)
    late = service.submit(competition)

    def stage() -> Stage:
        return phases.stage(service.reload(competition), service.now + 2 * HOUR)

    assert phases.stage(service.reload(competition), service.now) is Stage.RUNNING
    assert stage() is Stage.CLOSED
    with pytest.raises(ScoringPending):
        settle(service, competition, 2 * HOUR)
    service.score(late)
    settle(service, competition, 2 * HOUR)
    assert stage() is Stage.SETTLED
    before = standings(service, Split.PRIVATE)
    assert service.reload(competition).state == "published"
    reveal(service, competition, 3 * HOUR)
    assert stage() is Stage.REVEALED
    assert standings(service, Split.PRIVATE) == before
    assert service.reload(competition).closes_at == service.now + HOUR


def test_postponed_close_is_settled_again(service):
    competition = service.competition(closes_at=service.now + HOUR)
    service.score(service.submit(competition, user="ada"))
    settle(service, competition, HOUR)
    with service.database.write() as session:
        session.execute(update(Competition).values(closes_at=service.now + 3 * HOUR, entry_deadline=None))
    service.score(service.submit(competition, user="bob", after=2 * HOUR))
    assert phases.stage(service.reload(competition), service.now + 4 * HOUR) is Stage.CLOSED
    reveal(service, competition, 4 * HOUR)
    assert len(standings(service, Split.PRIVATE)) == 2


def test_better_selected_submission_counts_and_the_team_sees_the_reason(service):
    competition = service.competition()
    for number, skill in enumerate((0.1, 0.2, 0.3, 0.4)):
        service.score(service.submit(competition, seed=number, skill=skill, after=number * HOUR))
    service.score(service.submit(competition, user="bob", skill=0.25))
    with service.database.write() as session:
        session.execute(update(Submission).where(Submission.id == 1).values(is_selected=True))
    with pytest.raises(BoardNotRevealed):
        own_results(service, competition, "ada", Phase.CLOSED)
    reveal(service, competition, 5 * HOUR)
    found = own_results(service, competition, "ada")
    assert [line.submission_id for line in found.lines] == [4, 3, 2, 1]
    assert [line.is_picked for line in found.lines] == [False, None, None, True]
    assert [line.counted for line in found.lines] == [True, False, False, False]
    assert (found.rank, found.public_rank, found.team_count) == (1, 1, 2)


def test_scheduled_reveal_happens_automatically_and_waits_for_unscored_files(service, caplog):
    competition = service.competition(closes_at=service.now + HOUR)
    assert competition.reveals_at == service.now + HOUR + WEEK
    waiting = service.submit(competition)
    run_calendar(service.database)  # The tests' competition is in the past.
    assert "The reveal" not in caplog.text  # Only a recent date is worth a warning.
    assert service.reload(competition).revealed_at is None
    service.score(waiting)
    run_calendar(service.database)
    found = service.reload(competition)
    assert found.revealed_at is not None and found.settled_at is not None
    assert standings(service, Split.PRIVATE)
    run_calendar(service.database)
    assert service.reload(competition).revealed_at == found.revealed_at


def test_competition_settles_automatically_and_is_not_revealed_before_its_date(service):
    competition = service.competition(opens_at=service.now, closes_at=datetime.now(UTC) + HOUR)
    service.score(service.submit(competition))
    with service.database.write() as session:
        session.execute(update(Competition).values(closes_at=datetime.now(UTC) - HOUR))
    run_calendar(service.database)
    found = service.reload(competition)
    assert found.settled_at is not None and found.revealed_at is None
    assert standings(service, Split.PRIVATE)


def test_failed_file_scored_after_the_settling_enters_the_private_leaderboard(service):
    competition = service.competition(closes_at=service.now + HOUR)
    failed = service.submit(competition)
    with service.database.write() as session:
        session.execute(update(Submission).values(status=SubmissionStatus.FAILED))
    settle(service, competition, 2 * HOUR)
    assert standings(service, Split.PRIVATE) == []
    service.score(failed)
    assert len(standings(service, Split.PRIVATE)) == 1


def test_subscribers_are_notified_of_the_reveal_by_mail(service):
    competition = service.competition(divisions="A\nB")
    for seed, name in enumerate(("ada", "bob", "cleo")):
        service.score(service.submit(competition, user=name, seed=seed, skill=seed / 10))
    service.verify_addresses("ada", "bob")
    with service.database.write() as session:
        session.execute(update(User).where(User.name == "bob").values(unwanted_notices=["results"]))
    service.act(divisions.assign_lines, competition=competition, text="ada,A\nbob,B\ncleo,B")
    reveal(service, competition)
    with service.database.read() as session:
        (letter,) = session.scalars(select(Mail)).all()
    assert letter.to_address == "ada@example.org"
    assert "Your team ada is ranked 2 of 3, and 1 in the division A. On the public" in letter.body
    assert "/competitions/toxicity/results" in letter.body


def test_each_step_of_the_close_is_due_from_its_date(service):
    moment = timedelta(microseconds=1)
    close, reveals, deadline = HOUR, 2 * HOUR, 3 * HOUR
    competition = service.competition(closes_at=service.now + close, reveals_at=service.now + reveals)

    def found(step: Callable[..., list[Competition]], after: timedelta) -> list[str]:
        with service.database.read() as session:
            return [each.slug for each in step(session, now=service.now + after)]

    for step, after in ((closing.unsettled, close), (closing.due, reveals)):
        assert (found(step, after - moment), found(step, after)) == ([], ["toxicity"])
    with service.database.write() as session:
        session.get_one(Competition, competition.id).selection_deadline = service.now + deadline
    for step in (closing.unsettled, closing.due):
        assert (found(step, deadline - moment), found(step, deadline)) == ([], ["toxicity"])
    settle(service, competition, deadline)
    assert phases.is_settled(service.reload(competition))
    assert found(closing.unsettled, deadline) == []
    with service.database.write() as session:
        session.get_one(Competition, competition.id).selection_deadline = service.now + deadline + moment
    assert not phases.is_settled(service.reload(competition))


MOMENT = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_phase_of_a_competition_depends_only_on_its_dates():
    close, moment = MOMENT, timedelta(microseconds=1)
    given = {"state": CompetitionState.PUBLISHED, "opens_at": close - HOUR, "closes_at": close}

    def stage(now: datetime, **more) -> Stage:
        return phases.stage(Competition(**given, **more), now)

    assert [stage(close - moment), stage(close)] == [Stage.RUNNING, Stage.CLOSED]
    assert stage(close - 2 * HOUR) is Stage.RUNNING
    assert [stage(close, settled_at=close + each) for each in (-moment, moment * 0)] == [
        Stage.CLOSED,
        Stage.SETTLED,
    ]
    assert stage(close, settled_at=close, selection_deadline=close + moment) is Stage.CLOSED
    assert stage(close, settled_at=close + moment, selection_deadline=close + moment) is Stage.SETTLED


def test_an_extension_keeps_a_competition_open_for_its_team_and_delays_the_reveal():
    close, until = MOMENT, MOMENT + HOUR
    given = {"state": CompetitionState.PUBLISHED, "closes_at": close, "extended_until": until}
    competition, team = Competition(**given, reveals_at=close), Team(extended_until=until)
    assert phases.of_team(competition, None, close) is Phase.CLOSED
    assert phases.of_team(competition, team, close) is Phase.OPEN
    assert phases.of_team(competition, team, until) is Phase.CLOSED
    assert phases.closes_at(competition, team) == phases.reveals_at(competition) == until
    competition.state = CompetitionState.ARCHIVED
    assert phases.of_team(competition, team, close) is Phase.CLOSED


def test_closing_now_settles_like_a_scheduled_close_and_moves_default_dates(service):
    competition = service.competition(opens_at=service.now, closes_at=service.now + WEEK)
    service.score(service.submit(competition, after=HOUR))
    for step in (close_now, reveal):
        with refused("not_yet_open"):
            step(service, competition, -HOUR)
    with pytest.raises(NotClosed):
        settle(service, competition, HOUR)
    close_now(service, competition, 2 * HOUR)
    closed = service.reload(competition)
    assert closed.closes_at == service.now + 2 * HOUR
    assert phases.phase(closed, service.now + 2 * HOUR) is Phase.CLOSED
    assert closed.reveals_at in (None, closed.closes_at + WEEK)
    with refused("already_closed"):
        close_now(service, competition, 3 * HOUR)
    settle(service, competition, 3 * HOUR)
    assert standings(service, Split.PRIVATE)
    with service.database.read() as session:
        [entry] = session.scalars(select(AuditEntry).where(AuditEntry.action == "competition.change"))
    assert "The close changed from" in entry.public_text
