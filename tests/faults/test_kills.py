"""kill -9 of any process at the worst moment: no lost or repeated work."""

import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from pydantic import SecretStr

from grader.models import JobState
from grader.settings import Settings
from grader.worker.broker import Hints
from tests.fixtures.patience import HANG_SECONDS

# Each test takes seconds, so tests that do not depend on the database run on only one.
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
# Workers use the same code path on both databases. In the short run, SQLite covers the sweeper and the web
# server.
sqlite_takes_long = pytest.mark.parametrize(
    "database_url", ["postgresql", pytest.param("sqlite", marks=pytest.mark.long)], indirect=True
)


@pytest.fixture
def settings(make_settings: Callable[..., Settings], valkey) -> Settings:
    """Settings with which a sweeper claims free jobs immediately."""
    return make_settings(broker_url=SecretStr(valkey.url), sweep_after_seconds=0)


def hint(service, *accepted):
    hints = Hints(service.settings)
    hints.send([job_id for each in accepted for job_id in each.job_ids])


@sqlite_takes_long
def test_jobs_of_a_killed_process_are_scored_long_before_the_lease_ends(
    service, processes, snag, eventually, watch, predictions_csv
):
    """Kill a scoring process, then a worker. Without the kills, the lease would last an hour."""
    patient = service.settings.model_copy(
        update={"scoring_lease_seconds": 3600, "sweep_after_seconds": 3600.0}
    )
    worker = processes.worker(patient)
    processes.sweeper(patient)
    for attempt, whom in enumerate(("child", "all")):
        # With equal predictions, the cached ranks would be used instead of the file.
        predictions = predictions_csv(seed=attempt)
        accepted = service.submit(service.competition(f"cup-{attempt}"), csv=predictions)
        caught = snag(accepted)
        hint(service, accepted)
        eventually(caught.holds)
        assert watch.states()[-1] is JobState.CLAIMED
        caught.restore()
        if whom == "child":
            # psutil drops a child that seems older than its parent, for up to a second after the start.
            [child] = eventually(psutil.Process(worker.pid).children)
            child.kill()
        else:
            processes.kill(worker)
        eventually(watch.all_scored)
    assert watch.attempts() == [2, 2]
    assert watch.score_count() == 4


@sqlite_takes_long
def test_starting_worker_requests_jobs_whose_hints_its_predecessor_lost(
    service, processes, eventually, watch
):
    """Test hints that are lost with a killed worker; no sweeper runs in this test."""
    service.submit(service.competition())
    processes.worker(service.settings)
    eventually(watch.all_scored)


@on_sqlite
def test_sweeper_killed_while_scoring_loses_nothing(service, processes, snag, eventually, watch):
    accepted = service.submit(service.competition())
    caught = snag(accepted)
    sweeper = processes.sweeper(service.settings)
    eventually(caught.holds)
    processes.kill(sweeper)
    caught.restore()
    watch.let_leases_run_out()
    processes.sweeper(service.settings)
    eventually(watch.all_scored)
    assert watch.score_count() == 2


@on_postgresql
@pytest.mark.long
def test_worker_stopped_beyond_its_lease_cannot_record_after_it_continues(
    service, processes, snag, eventually, watch
):
    accepted = service.submit(service.competition())
    caught = snag(accepted)
    worker = processes.worker(service.settings)
    hint(service, accepted)
    eventually(caught.holds)
    processes.signal(worker, signal.SIGSTOP)
    caught.restore()
    watch.let_leases_run_out()
    processes.sweeper(service.settings)
    eventually(watch.all_scored)
    written = watch.score_ids()
    processes.signal(worker, signal.SIGCONT)
    caught.let_go()
    worker.send_signal(signal.SIGTERM)  # A warm shutdown waits for the current task.
    worker.wait(HANG_SECONDS)
    assert watch.all_scored()
    assert watch.score_ids() == written and len(written) == 2
    assert watch.attempts() == [2]


WEB_THAT_DIES_BEFORE_ITS_HINT = """
import os, signal
from grader.settings import load
from webapp.app import create_app

class Fatal:
    def send(self, job_ids):
        os.kill(os.getpid(), signal.SIGKILL)

app = create_app(load(), hints=Fatal())
"""


@on_sqlite
def test_web_process_killed_between_commit_and_hint_loses_nothing(
    service,
    processes,
    eventually,
    watch,
    tmp_path: Path,
    short_folder: Path,
    predictions_csv: Callable[..., bytes],
):
    import http.client
    import socket

    from grader.services.identity import api_tokens

    service.competition()
    with service.database.write() as session:
        _, token = api_tokens.create(session, user=service.user(), name="test", now=service.now)
    (tmp_path / "fatal.py").write_text(WEB_THAT_DIES_BEFORE_ITS_HINT)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    gunicorn = ["-m", "gunicorn", "fatal:app", "--bind", f"fd://{listener.fileno()}", "--threads", "2"]
    processes.python(
        service.settings,
        *gunicorn,
        *["--log-level", "error", "--no-control-socket"],
        cwd=tmp_path,
        pass_fds=(listener.fileno(),),
    )
    body, boundary = predictions_csv(), "boundary"
    form = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'.encode()
        + body
        + f"\r\n--{boundary}--\r\n".encode()
    )
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": f"multipart/form-data; boundary={boundary}",
    }
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        connection.request("POST", "/api/v1/competitions/toxicity/submissions", form, headers)
        connection.getresponse()
    assert watch.states() == [JobState.WAITING]
    processes.sweeper(service.settings)
    eventually(watch.all_scored)
    assert watch.score_count() == 2
    listener.close()
