import contextlib
import hashlib
import sqlite3
import sys

import pytest

from grader.supervisor import valkey
from tests.fixtures.guarded import lives
from tests.fixtures.patience import eventually
from tests.fixtures.service import write_predictions, write_solution
from tests.fixtures.snags import Snag

PROGRAMS = ("valkey-server", "worker@%h", "sweeper", "gunicorn")
WITHOUT_VALKEY = (
    "import click; from grader.settings import load; from grader.supervisor import service, valkey; "
    "valkey.find_server = lambda: None; service.serve(load(port=0), announce=click.echo)"
)


@pytest.fixture
def solution(tmp_path):
    """The path of a solution with two identities."""
    path = tmp_path / "solution.csv"
    path.write_bytes(write_solution())
    return path


def set_up_competition(running, solution):
    running.create_competition(solution)
    assert running.command_here("user", "create", "anna").exit_code == 0
    return running.command_here("token", "create", "anna").stdout.strip()


def test_killed_processes_are_restarted_and_a_stop_ends_them_all(make_service, solution):
    running = make_service().start().wait_until_ready()
    token = set_up_competition(running, solution)
    socket_folder = (running.data_dir / valkey.LINK).resolve().parent
    before = {}
    for program in PROGRAMS:
        eventually(lambda program=program: running.child(program))
        before[program] = running.child(program)
        before[program].kill()

    for program, killed in before.items():
        eventually(lambda program=program, pid=killed.pid: (c := running.child(program)) and c.pid != pid)
    running.wait_until_ready()
    first = running.submit("cup", token, write_predictions())
    assert running.wait_until_scored(first, token)["status"] == "scored"

    family = running.family()
    assert running.stop() == 0
    assert not any(map(lives, family))
    assert not socket_folder.exists()


def test_killed_service_leaves_no_process_even_if_they_are_busy_and_loses_no_data(make_service, solution):
    running = make_service().start().wait_until_ready()
    token = set_up_competition(running, solution)
    with blocked_scoring(running, token) as sent:
        family = running.family()
        running.kill()
        eventually(lambda: not any(map(lives, family)), lambda: str([each for each in family if lives(each)]))
    again = make_service().start().wait_until_ready()
    assert again.wait_until_scored(sent, token)["status"] == "scored"
    assert "is taken" in again.command_here("user", "create", "anna").stderr


@pytest.mark.long
def test_sweeper_scores_without_valkey_and_a_second_service_is_rejected(make_service, solution, tmp_path):
    """Test two properties with one service, because each start takes a long time."""
    running = make_service(command=(sys.executable, "-c", WITHOUT_VALKEY)).start()
    link = running.process.stdout.readline().rsplit(maxsplit=1)[-1]

    same_folder = running.command("serve", "--port", "0")
    own_folder = running.environment["FAIRBOARD_DATA_DIR"]
    running.environment["FAIRBOARD_DATA_DIR"] = str(tmp_path / "other")
    port = running.address.rpartition(":")[-1]
    same_port = running.command("serve", "--port", port)
    running.environment["FAIRBOARD_DATA_DIR"] = own_folder

    assert link.startswith(f"{running.address}/setup/")
    assert (same_folder.returncode, same_port.returncode) == (1, 1)
    assert f"is already served by a process at {running.address}" in same_folder.stderr
    assert f"cannot listen on 127.0.0.1, port {port}" in same_port.stderr
    assert "Traceback" not in same_folder.stderr + same_port.stderr

    running.wait_until_ready()
    token = set_up_competition(running, solution)
    assert running.command_here("user", "invite").stdout.startswith(f"{running.address}/sign-up/")
    sent = running.submit("cup", token, write_predictions())
    assert running.wait_until_scored(sent, token)["status"] == "scored"
    assert running.child("worker@%h") is None
    assert "Valkey was not found" in running.log()


@pytest.mark.long
def test_administrator_from_the_settings_can_log_in_and_replaces_the_setup_link(make_service):
    """Test also that the password is in no output of any process."""
    administrator = {"FAIRBOARD_ADMIN_NAME": "ada", "FAIRBOARD_ADMIN_PASSWORD": "correct horse battery"}
    running = make_service(administrator).start().wait_until_ready()
    assert "ada   yes" in running.command_here("user", "list").stdout
    assert running.stop() == 0
    written = running.process.stdout.read() + running.log()
    assert "/setup/" not in written
    assert "battery" not in written


def suspended_outside_transactions(running, worker):
    """Suspend the worker and its children, unless one of them holds the lock of the database."""
    processes = (worker, *worker.children(recursive=True))
    for process in processes:
        process.suspend()
    try:
        with contextlib.closing(sqlite3.connect(running.data_dir / "fairboard.db", timeout=1)) as database:
            database.execute("BEGIN IMMEDIATE")
            database.rollback()
    except sqlite3.OperationalError:
        for process in processes:
            process.resume()
        return False
    return True


@contextlib.contextmanager
def blocked_scoring(running, token):
    """Submit a file that blocks a scoring process of the worker until the end of the block."""
    worker = running.child("worker@%h")
    eventually(lambda: suspended_outside_transactions(running, worker))
    sent = running.submit("cup", token, write_predictions())
    snag = Snag.at(running.data_dir / "blobs", hashlib.sha256(write_predictions()).hexdigest())
    for process in (worker, *worker.children(recursive=True)):
        process.resume()
    eventually(snag.holds)
    snag.restore()
    yield sent
    snag.end()
