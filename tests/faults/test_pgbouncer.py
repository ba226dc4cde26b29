"""A site behind PgBouncer in transaction mode: snapshots, uploads, scoring, backup, restart."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text

from grader.maintenance import backups
from grader.models import Submission, User
from tests.fixtures.races import race

ADDRESS = "/api/v1/competitions/toxicity"
CLIENTS, FILES = 6, 4


@pytest.fixture
def database_url(pgbouncer):
    return str(pgbouncer.url)


def test_each_transaction_may_run_in_another_session_of_the_server(database):
    """Otherwise, the other tests of this file would prove nothing."""
    with database.engine.connect() as connection:
        sessions = set()
        for _ in range(10):
            with connection.begin():
                sessions.add(connection.scalar(text("SELECT pg_backend_pid()")))
            race(*[lambda: _any_user(database)] * 2)
        assert len(sessions) > 1
        driver = connection.connection.driver_connection
        assert driver is not None and driver.prepare_threshold is None


def _any_user(database):
    with database.read() as session:
        session.scalar(select(User.id).limit(1))


def test_uploads_scores_and_backups_are_complete_and_a_restarted_pooler_is_used_again(
    service, web, make_token, predictions_csv, all_is_well, pgbouncer, eventually, tmp_path
):
    service.competition(max_pending_submissions=1000, max_daily_submissions=None)
    web.start()
    sent: dict[int, bytes] = {}

    def upload(number: int):
        caller = web.caller(make_token(f"user {number}"))
        for each in range(FILES):
            content = predictions_csv(seed=FILES * number + each)
            answer = caller.send(content)
            assert answer.status == 201, answer
            sent[answer.data["id"]] = content
            assert caller.get(f"{ADDRESS}/leaderboard").status == 200

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(upload, range(CLIENTS)))
    assert len(sent) == CLIENTS * FILES
    caller, late = web.caller(make_token("late")), predictions_csv(seed=1000)
    assert caller.get(f"{ADDRESS}/leaderboard").status == 200
    pgbouncer.kill()
    refused = caller.send(late, key="late")
    assert (refused.status, refused.data["error"]) == (503, "database_unavailable")
    pgbouncer.start()
    eventually(lambda: caller.send(late, key="late").status == 201)
    with service.database.read() as session:
        sent[max(session.scalars(select(Submission.id)))] = late
    all_is_well(sent=sent)
    target = str(tmp_path / "backup")
    made = backups.run(service.settings, service.database, service.storage, target=target)
    assert len(made.record.blobs) > len(sent)
