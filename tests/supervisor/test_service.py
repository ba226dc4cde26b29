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

PROGRAMS = ("valkey-server", "worker@%h", "rescorer@%h", "sweeper", "gunicorn", "supervisor.guardian")
WITHOUT_VALKEY = (
    "import click; from grader.settings import load; from grader.supervisor import service, valkey; "
    "valkey.find_server = lambda: None; service.serve(load(port=0), announce=click.echo)"
)


@pytest.fixture
def files(tmp_path):
    """A solution with two identities, and a submission, as paths."""
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
    made = running.command_here("competition", "create", "cup", "--solution", solution, "--title", "Cup")
    assert made.exit_code == 0, made.output
    assert running.command_here("user", "create", "anna").exit_code == 0
    return running.command_here("token", "create", "anna").stdout.strip()


def test_everything_that_is_killed_is_started_again_and_a_stop_leaves_nothing(make_service, files):
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


def test_a_killed_service_leaves_no_process_and_the_next_one_has_everything(make_service, files):
    running = make_service().start().wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    socket_path = str(valkey.socket_path(running.data_dir.resolve()))
    with Redis(unix_socket_path=socket_path) as client:
        client.lpush("waiting", *range(50))
    running.child("worker@%h").suspend()  # nobody scores what is sent now
    sent = running.submit("cup", token, submission.read_text())

    running.kill()

    eventually(lambda: not guardian.find(running.data_dir), 15)
    again = make_service().start().wait_until_ready()
    with Redis(unix_socket_path=socket_path) as client:
        assert client.llen("waiting") == 50
    assert again.wait_until_scored(sent, token)["status"] == "scored"
    assert "is taken" in again.command_here("user", "create", "anna").stderr


@pytest.mark.long
def test_a_service_that_is_killed_with_its_guardian_leaves_its_processes_to_the_next_start(make_service):
    """`test_guardian.py` has how they are found and ended; here are two services more to start."""
    running = make_service().start().wait_until_ready()
    worker = running.child("worker@%h")
    running.child("supervisor.guardian").kill()
    running.kill()
    again = make_service().start()
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
    assert "that a killed service had left" in again.log()


def test_without_a_valkey_the_sweeper_scores_and_a_second_service_is_refused(make_service, files, tmp_path):
    """Two things that a service does whatever else it does: each start takes long."""
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
    assert f"port {port}: another program listens there" in same_port.stderr
    assert "Traceback" not in same_folder.stderr + same_port.stderr

    running.wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    sent = running.submit("cup", token, submission.read_text())
    assert running.wait_until_scored(sent, token)["status"] == "scored"
    assert running.child("worker@%h") is None
    assert "There is no Valkey" in running.log()


@pytest.mark.long
def test_a_score_does_not_wait_for_the_lease_of_workers_that_were_killed(make_service, files):
    """The lease would take hours, longer than any hang; the time it took is printed.

    The short version, without a supervisor, is in `tests/faults/test_kills.py`.
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
    os.mkfifo(blob)  # holds its reader in the middle of scoring
    for process in (worker, *worker.children(recursive=True)):
        process.resume()
    holding = []
    eventually(lambda: holding or holding.extend(open_for_writing(blob)))
    blob.unlink()
    shutil.copy(submission, blob)

    begin = time.monotonic()
    worker.kill()
    running.child("rescorer@%h").kill()
    found = running.wait_until_scored(sent, token)

    print(f"{time.monotonic() - begin:.1f} s from kill -9 of both workers to the score.")
    os.close(*holding)
    assert found["status"] == "scored"
    assert "1 claim of processes that died is free again" in running.log()


def open_for_writing(fifo):
    """Return the descriptor of a pipe that somebody reads, nothing while nobody does."""
    with contextlib.suppress(OSError):
        return [os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)]
    return []


@pytest.mark.long
def test_a_queue_whose_files_are_damaged_begins_empty_and_scores(make_service, files):
    running = make_service().start().wait_until_ready()
    solution, submission = files
    token = set_up_competition(running, solution)
    assert running.stop() == 0
    (log,) = running.data_dir.glob("valkey/appendonlydir/*.incr.aof")
    log.write_bytes(b"no command at all\r\n" * 100)

    again = make_service().start().wait_until_ready()

    assert "They are put aside in" in again.log()
    assert (running.data_dir / "valkey.unreadable/appendonlydir" / log.name).exists()
    eventually(lambda: again.get("/healthz")[1].get("queue") == "ok")
    sent = again.submit("cup", token, submission.read_text())
    assert again.wait_until_scored(sent, token)["status"] == "scored"
