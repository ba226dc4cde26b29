"""Invariant checker: correct states are accepted, and violations are reported."""

from datetime import timedelta

import pytest
from sqlalchemy import delete, update

from grader.models import JobState, Score, ScoringJob, Split, Standing, Submission, SubmissionStatus
from tests.invariants.findings import BoardLine, BoardRead

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def accepted(service):
    """Two scored files for each of two teams."""
    competition = service.competition(max_daily_submissions=2)
    accepted = [
        service.submit(competition, user=f"user{number % 2}", seed=number, after=timedelta(minutes=number))
        for number in range(4)
    ]
    service.score(*accepted)
    return accepted


@pytest.fixture
def kinds(service, accepted, invariants):
    """A function that returns the violated invariants with their explanations."""

    def find(**options) -> set[tuple[str, str]]:
        options = {"acknowledged": acknowledged(accepted)} | options
        found = invariants(service.database, service.storage, **options)
        assert found.checked["I4"] >= 2 * len(accepted)
        return {(violation.invariant, violation.kind) for violation in found.violations}

    return find


def acknowledged(accepted):
    return {each.submission.id: each.submission.sha256 for each in accepted}


def change(service, statement):
    with service.database.write() as session:
        session.execute(statement)


def of_first(table):
    """Return an update of the first submission, or of its job."""
    column = table.id if table is Submission else table.submission_id
    return update(table).where(column == 1)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (of_first(ScoringJob).values(state=JobState.WAITING), {("I3", "stuck"), ("I3", "wrong")}),
        (update(Score).where(Score.id == 1).values(score=Score.score * (1 + 2**-52)), {("I4", "wrong")}),
        (
            update(Standing).where(Standing.id == 1).values(score_units=Standing.score_units + 1),
            {("I5", "wrong")},
        ),
        (of_first(Submission).values(slot_day=None), {("I6", "wrong")}),
    ],
    ids=("waiting job", "last bit of a score", "standing", "unreturned slot"),
)
def test_violation_is_reported(kinds, service, statement, expected):
    change(service, statement)
    assert kinds() >= expected


def test_correct_installation_satisfies_every_invariant(service, accepted, check_invariants):
    check_invariants(
        service.database,
        service.storage,
        acknowledged=acknowledged(accepted),
        unanswered=["a" * 64, accepted[0].submission.sha256],
        refused=["b" * 64],
    )


def test_acknowledged_file_without_a_row_or_its_bytes_is_lost(kinds, service, accepted):
    assert ("I1", "lost") in kinds(acknowledged={**acknowledged(accepted), 99: "a" * 64})
    assert ("I2", "wrong") in kinds(refused=[accepted[0].submission.sha256])
    service.storage.delete(accepted[0].submission.sha256)
    assert ("I1", "lost") in kinds()


def test_healthy_failed_file_is_lost_but_a_poisonous_one_may_fail(kinds, service, accepted):
    submission = accepted[0].submission
    score = delete(Score).where(Score.submission_id == submission.id)
    change(service, score)
    change(service, delete(Standing))
    job = update(ScoringJob).where(ScoringJob.submission_id == submission.id)
    change(service, job.values(state=JobState.FAILED))
    failed = update(Submission).where(Submission.id == submission.id)
    change(service, failed.values(status=SubmissionStatus.FAILED, slot_day=None))
    assert {("I1", "lost"), ("I3", "lost")} < kinds()
    assert not {invariant for invariant, _ in kinds(unhealthy=[submission.sha256])} - {"I5"}


def test_file_stored_twice_is_doubled(kinds, service, accepted):
    twin = update(Submission).where(Submission.id == accepted[1].submission.id)
    change(service, twin.values(sha256=accepted[0].submission.sha256))
    assert ("I2", "doubled") in kinds(acknowledged={}, unanswered=[accepted[0].submission.sha256])


def test_leaderboard_page_with_a_score_of_another_version_is_wrong(kinds, service):
    with service.database.read() as session:
        standings = list(session.query(Standing).order_by(Standing.score_units.desc()))
        lines = [
            BoardLine(rank, each.team.name, f"{each.score_units / 100_000:.5f}")
            for rank, each in enumerate(standings, 1)
        ]
    assert not kinds(board_reads=[BoardRead("toxicity", 1, tuple(lines))])
    lines[0] = BoardLine(1, lines[0].team, "0.99999")
    assert kinds(board_reads=[BoardRead("toxicity", 1, tuple(lines))]) == {("I5", "wrong")}
    assert ("I5", "wrong") in kinds(board_reads=[BoardRead("toxicity", 2, tuple(lines[1:]))])


def test_private_score_in_a_response_is_wrong(kinds, service):
    with service.database.read() as session:
        private = session.query(Score).where(Score.split == Split.PRIVATE).first()
        public = session.query(Score).where(Score.split == Split.PUBLIC).first()
    assert not kinds(texts=[f'{{"score": {public.score:.5f}}}'])
    assert kinds(texts=[f'{{"score": {private.score!r}}}']) == {("I7", "wrong")}
    assert kinds(texts=[f'{{"score": {private.score:.5f}}}']) == {("I7", "wrong")}
