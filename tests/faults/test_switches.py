"""kill -9 while a rescoring is being prepared, published or rolled back during uploads."""

from dataclasses import replace
from datetime import timedelta

import pytest
from pydantic import SecretStr
from sqlalchemy import func, select, update

from grader.db import Database
from grader.files import read_solution
from grader.maintenance import backups
from grader.models import AuditEntry, JobState, ScoringJob, ScoringVersion, ScoringVersionState
from grader.services.competitions import lookup
from grader.services.leaderboards.board import board_of
from grader.services.rescoring import preparation
from grader.services.rescoring.publication import RescoringIncomplete
from grader.services.site.log import Actor
from grader.storage.stores import open_storage
from grader.worker.scorer import Scorer
from tests.fixtures import rescorings, stored_solutions
from tests.invariants.findings import BoardLine, BoardRead

on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
LIVE, PREPARING, RETIRED = (
    ScoringVersionState.LIVE,
    ScoringVersionState.PREPARING,
    ScoringVersionState.RETIRED,
)
TEAMS = 5
TESTS = Actor(None, "tests")
SCORE_BATCH = (
    "import sys; from grader.settings import load; "
    "from grader.worker.scorer import Scorer; Scorer.of(load()).run_batch()"
)
SWITCH = """
import sys
from pathlib import Path
from grader.db import Database
from grader.files import read_solution
from grader.services.site.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.rescoring import preparation, publication
from tests.fixtures import stored_solutions
from grader.settings import load
from grader.storage.stores import open_storage

settings, actor = load(), Actor(None, "tests")
with Database(settings.database(), pool_size=1).write() as session:
    competition = lookup.get(session, slug="toxicity")
    act = acting.begin(session, competition=competition, actor=actor)
"""
PREPARE = (
    SWITCH
    + """
    read = read_solution(Path(sys.argv[1]).read_bytes(), label="toxicity", identities=("female", "muslim"))
    live = lookup.live(competition)
    stored = stored_solutions.store_corrected(open_storage(settings.storage()), read, live=live)
    preparation.prepare(act, solution=stored, reason="Labels.")
"""
)
PUBLISH = (
    SWITCH
    + """
    publication.publish(act, number=int(sys.argv[1]))
"""
)
ROLL_BACK = (
    SWITCH
    + """
    publication.roll_back(act, number=1, reason="Labels.")
"""
)


@pytest.fixture
def settings(make_settings):
    """Settings with which a sweeper claims free jobs immediately."""
    return make_settings(sweep_after_seconds=0)


@pytest.fixture
def competition(service):
    return service.competition()


@pytest.fixture
def accepted(service, competition):
    """A scored submission for each of five teams."""
    accepted = [
        service.submit(competition, seed=seed, user=f"user{seed}", skill=0.3) for seed in range(TEAMS)
    ]
    service.score(*accepted)
    return accepted


@pytest.fixture
def prepare(service, competition, solution_csv):
    """A function that prepares the next version with the labels of a seed."""

    def begin(*, seed: int) -> ScoringVersion:
        live = lookup.live(service.reload(competition))
        solution = read_solution(solution_csv(seed=seed), label="toxicity", identities=("female", "muslim"))
        stored = stored_solutions.store_corrected(service.storage, solution, live=live)
        return rescorings.act_on(service, competition, preparation.prepare, solution=stored, reason="Labels.")

    return begin


def is_published(service, version):
    """Publish a version unless it is incomplete; return whether it was published."""
    try:
        rescorings.publish(service, version)
    except RescoringIncomplete:
        return False
    return True


def board(service):
    """Read the leaderboard in one transaction."""
    with service.database.read() as session:
        found = board_of(session, competition=lookup.get(session, slug="toxicity"))
    lines = tuple(BoardLine(row.rank or 0, row.team, row.score) for row in found.rows)
    return BoardRead("toxicity", found.scoring_version, lines)


def let_leases_run_out(service):
    with service.database.write() as session:
        held = update(ScoringJob).where(ScoringJob.state == JobState.CLAIMED)
        session.execute(held.values(lease_until=service.now))


def states(service):
    with service.database.read() as session:
        return list(session.scalars(select(ScoringVersion.state).order_by(ScoringVersion.number)))


def acts(service):
    """Count the log's rescoring entries by action."""
    with service.database.read() as session:
        query = select(AuditEntry.action, func.count()).where(AuditEntry.action.startswith("rescoring."))
        return dict(session.execute(query.group_by(AuditEntry.action)).all())


@on_sqlite
def test_a_switch_killed_before_its_commit_changes_nothing_and_is_repeated(
    service, accepted, prepare, processes, solution_csv, tmp_path, all_is_well
):
    (tmp_path / "corrected.csv").write_bytes(solution_csv(seed=2))
    corrected = str(tmp_path / "corrected.csv")
    before = board(service)
    processes.crash(service.settings, "-c", PREPARE, corrected, at="rescoring.before_commit")
    assert states(service) == [LIVE]
    version = prepare(seed=2)
    scorer = Scorer(service.database, service.storage, lease=timedelta(seconds=40))
    while scorer.run_batch():
        pass
    processes.crash(service.settings, "-c", PUBLISH, str(version.number), at="publish.before_commit")
    assert states(service) == [LIVE, PREPARING] and board(service) == before
    assert is_published(service, version)
    assert states(service) == [RETIRED, LIVE]
    after = board(service)
    assert after.scoring_version == 2 and after.lines != before.lines
    processes.crash(service.settings, "-c", ROLL_BACK, at="publish.before_commit")
    assert states(service) == [RETIRED, LIVE] and board(service) == after
    assert acts(service) == {"rescoring.prepare": 1, "rescoring.publish": 1}
    all_is_well(*accepted, board_reads=[before, after])


@pytest.mark.parametrize(
    ("point", "state", "attempts"),
    [
        pytest.param("claim.after_commit", JobState.CLAIMED, 2, marks=pytest.mark.long),
        ("record.before_commit", JobState.CLAIMED, 2),
        ("record.after_commit", JobState.DONE, 1),
    ],
)
@on_sqlite
def test_batch_whose_process_dies_at_any_step_is_scored_once(
    service, accepted, prepare, processes, all_is_well, point, state, attempts
):
    before, version = board(service), prepare(seed=2)

    def jobs() -> list[ScoringJob]:
        with service.database.read() as session:
            found = session.scalars(select(ScoringJob).where(ScoringJob.scoring_version_id == version.id))
            return list(found)

    processes.crash(service.settings, "-c", SCORE_BATCH, at=point)
    states_of_jobs = {each.state for each in jobs()}
    assert state in states_of_jobs
    # On a slow machine, a batch ends before its last file. The others wait again, without a counted attempt.
    assert states_of_jobs <= {state, *([JobState.WAITING] if state is JobState.DONE else [])}
    assert board(service) == before
    let_leases_run_out(service)
    scorer = Scorer(service.database, service.storage, lease=timedelta(seconds=40))
    while scorer.run_batch():
        pass
    assert [each.attempt_count for each in jobs()] == [attempts] * TEAMS
    assert is_published(service, version)
    all_is_well(*accepted, board_reads=[before, board(service)])


@on_sqlite
def test_rescoring_continues_from_a_backup_made_halfway(
    service, accepted, prepare, processes, make_settings, check_invariants, tmp_path
):
    before, version = board(service), prepare(seed=2)
    processes.crash(service.settings, "-c", SCORE_BATCH, at="record.before_commit")
    backups.run(service.settings, service.database, service.storage, target=str(tmp_path / "backup"))
    folder = tmp_path / "elsewhere"
    settings = make_settings(data_dir=folder, database_url=SecretStr(f"sqlite:///{folder / 'fairboard.db'}"))
    database, storage = Database(settings.database()), open_storage(settings.storage())
    backup = backups.open_backup(str(tmp_path / "backup"))
    backups.restore(database, storage, backup)
    restored = replace(service, database=database, storage=storage, settings=settings)
    assert board(restored) == before and states(restored) == [LIVE, PREPARING]
    # The original installation still exists, and the two do not depend on each other.
    for each in (service, restored):
        let_leases_run_out(each)
        scorer = Scorer(each.database, each.storage, lease=timedelta(seconds=40))
        while scorer.run_batch():
            pass
        assert is_published(each, version)
    assert board(restored) == board(service)
    assert board(restored).scoring_version == 2
    acknowledged = {each.submission.id: each.submission.sha256 for each in accepted}
    check_invariants(database, storage, acknowledged=acknowledged)
    database.dispose()
