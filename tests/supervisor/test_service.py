import contextlib
import hashlib
import os
import random
import shutil
import sys
import time

import psutil
import pytest
from redis import Redis

from grader.supervisor import guardian, valkey
from tests.fixtures.patience import eventually

PROGRAMS = ("valkey-server", "worker@%h", "sweeper", "gunicorn", "supervisor.guardian")
WITHOUT_VALKEY = (
    "import click; from grader.settings import load; from grader.supervisor import service, valkey; "
    "valkey.find_server = lambda: None; service.serve(load(port=0), announce=click.echo)"
)


@pytest.fixture
def files(tmp_path):
    """The paths of a solution with two identities and of a submission."""
    generator = random.Random(3)
    lines = ["id,target,cat,dog"]
    predictions = ["id,prediction"]
    for number in range(800):
        mentions = [generator.randint(0, 1) for _ in range(2)]
        lines.append(",".join(map(str, [number, generator.randint(0, 1), *mentions])))
        predictions.append(f"{number},{generator.random():.6f}")
    solution, submission = tmp_path / "solution.csv", tmp_path / "submission.csv"
    solution.write_text("\n".join(lines) + "\n")
    submission.write_text("\n".join(predictions) + "\n")
    return solution, submission


def set_up_competition(running, solution):
    running.create_competition(solution)
    assert running.command_here("user", "create", "anna").exit_code == 0
    return running.command_here("token", "create", "anna").stdout.strip()


def test_killed_processes_are_restarted_and_a_stop_ends_them_all(make_service, files):
    running = make_service().start().wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    socket_folder = valkey.socket_path(running.data_dir.resolve()).parent
    before = {}
    for program in PROGRAMS:
        eventually(lambda program=program: running.child(program))
        before[program] = running.child(program)
        before[program].kill()

    for program, killed in before.items():
        eventually(lambda program=program, pid=killed.pid: (c := running.child(program)) and c.pid != pid)
    running.wait_until_ready()
    first = running.submit("cup", token, submission.read_text())
    assert running.wait_until_scored(first, token)["status"] == "scored"

    assert running.stop() == 0
    assert guardian.find(running.data_dir) == []
    assert not socket_folder.exists()


def test_killed_service_leaves_no_process_and_loses_no_data(make_service, files):
    running = make_service().start().wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    socket_path = str(valkey.socket_path(running.data_dir.resolve()))
    with Redis(unix_socket_path=socket_path) as client:
        client.lpush("waiting", *range(50))
    # From here on, no process scores submissions.
    running.child("worker@%h").suspend()
    sent = running.submit("cup", token, submission.read_text())

    running.kill()

    eventually(lambda: not guardian.find(running.data_dir), 15)
    again = make_service().start().wait_until_ready()
    with Redis(unix_socket_path=socket_path) as client:
        assert client.llen("waiting") == 50
    assert again.wait_until_scored(sent, token)["status"] == "scored"
    assert "is taken" in again.command_here("user", "create", "anna").stderr


@pytest.mark.long
def test_leftover_processes_are_ended_at_the_next_start_if_the_guardian_was_killed(make_service):
    """Start two services. `test_guardian.py` tests how processes are found and ended."""
    running = make_service().start().wait_until_ready()
    worker = running.child("worker@%h")
    running.child("supervisor.guardian").kill()
    running.kill()
    again = make_service().start()
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    assert "leftover processes of a killed service" in again.log()


@pytest.mark.long
def test_sweeper_scores_without_valkey_and_a_second_service_is_rejected(make_service, files, tmp_path):
    """Test two properties with one service, because each start takes a long time."""
    running = make_service(command=(sys.executable, "-c", WITHOUT_VALKEY)).start()
    link = running.process.stdout.readline().rsplit(maxsplit=1)[-1]

    same_folder = running.command("serve", "--port", "0")
    invitation = running.command_here("user", "invite").stdout
    own_folder = running.environment["FAIRBOARD_DATA_DIR"]
    running.environment["FAIRBOARD_DATA_DIR"] = str(tmp_path / "other")
    port = running.address.rpartition(":")[-1]
    same_port = running.command("serve", "--port", port)
    running.environment["FAIRBOARD_DATA_DIR"] = own_folder

    assert link.startswith(f"{running.address}/setup/")
    assert invitation.startswith(f"{running.address}/sign-up/")
    assert (same_folder.returncode, same_port.returncode) == (1, 1)
    assert f"is already served by a process at {running.address}" in same_folder.stderr
    assert f"port {port}: another program uses this port" in same_port.stderr
    assert "Traceback" not in same_folder.stderr + same_port.stderr

    running.wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    sent = running.submit("cup", token, submission.read_text())
    assert running.wait_until_scored(sent, token)["status"] == "scored"
    assert running.child("worker@%h") is None
    assert "Valkey was not found" in running.log()


@pytest.mark.long
def test_administrator_from_the_settings_can_log_in_and_replaces_the_setup_link(make_service):
    """Test also that the password is in no output of any process."""
    given = {"FAIRBOARD_ADMIN_NAME": "ada", "FAIRBOARD_ADMIN_PASSWORD": "correct horse battery"}
    running = make_service(given).start().wait_until_ready()
    assert "ada (administrator)" in running.command_here("user", "list").stdout
    assert running.stop() == 0
    written = running.process.stdout.read() + running.log()
    assert "/setup/" not in written
    assert "battery" not in written


@pytest.mark.long
def test_score_does_not_wait_for_the_lease_of_killed_workers(make_service, files):
    """Use a lease of several hours, longer than any timeout, and print the time until the score.

    The short version without a supervisor is in `tests/faults/test_kills.py`.
    """
    patient = {"FAIRBOARD_SCORING_LEASE_SECONDS": "36000", "FAIRBOARD_SWEEP_AFTER_SECONDS": "36000"}
    running = make_service(patient).start().wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    worker = running.child("worker@%h")
    for process in (worker, *worker.children(recursive=True)):
        process.suspend()
    sent = running.submit("cup", token, submission.read_text())
    sha256 = hashlib.sha256(submission.read_bytes()).hexdigest()
    blob = next(running.data_dir.glob(f"blobs/*/{sha256}"))
    blob.unlink()
    os.mkfifo(blob)  # The FIFO blocks its reader during scoring.
    for process in (worker, *worker.children(recursive=True)):
        process.resume()
    holding = []
    eventually(lambda: holding or holding.extend(open_for_writing(blob)))
    blob.unlink()
    shutil.copy(submission, blob)

    begin = time.monotonic()
    worker.kill()
    found = running.wait_until_scored(sent, token)

    print(f"{time.monotonic() - begin:.1f} s from kill -9 of the worker to the score.")
    os.close(*holding)
    assert found["status"] == "scored"
    assert "1 claim of dead processes was released" in running.log()


def open_for_writing(fifo):
    """Return a list with the descriptor of a FIFO that has a reader; empty if it has none."""
    with contextlib.suppress(OSError):
        return [os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)]
    return []


@pytest.mark.long
def test_damaged_queue_is_replaced_by_an_empty_one(make_service, files):
    running = make_service().start().wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    assert running.stop() == 0
    (log,) = running.data_dir.glob("valkey/appendonlydir/*.incr.aof")
    log.write_bytes(b"no command at all\r\n" * 100)

    again = make_service().start().wait_until_ready()

    assert "They were moved to" in again.log()
    assert (running.data_dir / "valkey.unreadable/appendonlydir" / log.name).exists()
    eventually(lambda: again.get("/healthz")[1].get("queue") == "ok")
    sent = again.submit("cup", token, submission.read_text())
    assert again.wait_until_scored(sent, token)["status"] == "scored"
