"""Rescoring preparation: interruptions, new versions, concurrent uploads."""

import pytest
from sqlalchemy import func, select

from grader.models import (
    Score,
    ScoringVersion,
    ScoringVersionState,
    Split,
    SubmissionStatus,
)
from grader.ranking import order
from grader.services.competitions import lookup
from grader.services.solutions.truth import Truth
from tests.fixtures.refusals import refused
from tests.fixtures.rescorings import board, drop, prepare, publish, waiting


@pytest.fixture
def corrected_csv(solution_csv):
    """The solution with forty labels inverted and its rows in another order."""
    header, *lines = solution_csv().decode().splitlines()
    for number in range(40):
        cells = lines[number].split(",")
        cells[1] = str(1 - int(cells[1]))
        lines[number] = ",".join(cells)
    return "\n".join([header, *reversed(lines)]).encode()


@pytest.fixture
def competition(service):
    """A competition with three scored teams."""
    competition = service.competition()
    for number, name in enumerate(("ada", "bob", "cleo")):
        service.score(service.submit(competition, user=name, seed=number, skill=number / 10))
    return service.reload(competition)


def test_everything_changes_with_the_publication_and_nothing_before_it(service, competition, corrected_csv):
    before = board(service, competition)
    version = prepare(service, competition, corrected_csv)
    assert (version.number, version.state) == (2, ScoringVersionState.PREPARING)
    service.run(*waiting(service, version))
    assert board(service, competition) == before
    publish(service, version)
    after = board(service, competition)
    assert (after.scoring_version, after.team_count) == (2, 3)
    assert {row.score for row in after.rows}.isdisjoint(row.score for row in before.rows)
    with service.database.read() as session:
        states = {each.number: each.state for each in session.scalars(select(ScoringVersion))}
        assert states == {1: ScoringVersionState.RETIRED, 2: ScoringVersionState.LIVE}
        assert session.scalar(select(func.count()).select_from(Score)) == 12


def test_without_usage_every_row_stays_in_its_split(service, solution_csv, corrected_csv):
    competition = service.reload(service.competition(csv=solution_csv(usage=False)))
    without = b"\n".join(line.rpartition(b",")[0] for line in corrected_csv.splitlines())
    version = prepare(service, competition, without)
    assert version.solution.report["split_by"] == "live solution"
    splits = []
    for solution in (lookup.live(competition).solution, version.solution):
        truth = Truth.from_bytes(service.storage.read(solution.prepared_sha256))
        ids = service.storage.read(solution.row_ids_sha256).decode().split()
        splits.append({ids[row] for row in truth.rows(Split.PUBLIC)})
    assert splits[0] == splits[1] and len(splits[0]) == 200


def test_file_uploaded_during_preparation_is_scored_under_both_versions(service, competition, corrected_csv):
    version = prepare(service, competition, corrected_csv)
    accepted = service.submit(competition, user="dan", seed=9)
    assert len(accepted.job_ids) == 2
    service.score(accepted)
    assert board(service, competition).team_count == 4
    service.run(*waiting(service, version))
    publish(service, version)
    assert board(service, competition).team_count == 4


def test_file_scored_only_by_the_new_version_is_scored_after_the_switch(service, competition, corrected_csv):
    version = prepare(service, competition, corrected_csv)
    accepted = service.submit(competition, user="dan", seed=9)
    live_job, _ = accepted.job_ids
    service.run(*waiting(service, version))
    assert service.submission(accepted).status is SubmissionStatus.PENDING
    publish(service, version)
    submission = service.submission(accepted)
    assert submission.status is SubmissionStatus.SCORED and submission.finished_at is not None
    service.run(live_job)  # Files may still be scored under the retired version, with no visible change.
    assert service.submission(accepted).status is SubmissionStatus.SCORED
    assert board(service, competition).scoring_version == 2


def test_rejected_files_are_not_scored_again(service, competition, corrected_csv):
    rejected = service.submit(competition, csv=b"nonsense")
    service.score(rejected)
    version = prepare(service, competition, corrected_csv)
    assert len(waiting(service, version)) == 3
    service.run(*waiting(service, version))
    publish(service, version)
    assert service.submission(rejected).status is SubmissionStatus.REJECTED


def test_failed_files_are_tried_again(service, competition, corrected_csv):
    accepted = service.submit(competition, user="dan", seed=9)
    service.fail(accepted)
    assert service.submission(accepted).status is SubmissionStatus.FAILED
    version = prepare(service, competition, corrected_csv)
    service.run(*waiting(service, version))
    publish(service, version)
    submission = service.submission(accepted)
    assert (submission.status, submission.incident) == (SubmissionStatus.SCORED, None)


def test_only_one_version_is_prepared_at_a_time(service, competition, corrected_csv):
    version = prepare(service, competition, corrected_csv)
    with refused("rescoring_under_way", match=r"Scoring version 2 is not published yet"):
        prepare(service, competition, corrected_csv)
    drop(service, version)
    assert prepare(service, competition, corrected_csv).number == 3


def test_publication_after_the_reveal_rewrites_the_private_standings(service, competition, corrected_csv):
    competition = service.reveal(competition)
    before = board(service, competition, private=True)
    version = prepare(service, competition, corrected_csv)
    service.run(*waiting(service, version))
    assert board(service, competition, private=True) == before
    publish(service, version)
    after = board(service, competition, private=True)
    assert (after.scoring_version, after.team_count) == (2, 3)
    with service.database.read() as session:
        scores = session.scalars(
            select(Score).where(Score.scoring_version_id == version.id, Score.split == Split.PRIVATE)
        )
        expected = {each.submission_id: order.SCALE.units(each.score) for each in scores}
    assert all(row.score_units == expected[row.submission_id] for row in after.rows)
