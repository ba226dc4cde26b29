"""Child processes: responses to requests, and all kinds of termination."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryFile

import psutil
import pytest

from grader.worker.process import child as children
from grader.worker.process.child import AnsweringProcess, ChildProcess, running_module
from tests.fixtures.guarded import has_ended
from tests.fixtures.patience import HANG_SECONDS, eventually

pytestmark = pytest.mark.system

ECHO = """
import os, socket, sys
parent = socket.socket(fileno=0)
while True:
    question, files, _, _ = socket.recv_fds(parent, 1 << 16, 2)
    while question and not question.endswith(b"\\n"):
        question += parent.recv(1 << 16)
    if not question:
        break
    if question == b"wait\\n":
        parent.recv(1)
    parent.sendall(question.strip() + b"".join(os.read(file, 99) for file in files) + b"\\n")
"""
STUBBORN = """
import pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(9999)"])
pathlib.Path(sys.argv[1]).write_text(f"{grandchild.pid} ")
time.sleep(9999)
"""


FORKING = """
import os, sys
from grader.worker.process.child import AnsweringProcess, ChildDied, Nursery, RestartedChild, answer_parent
shared = object()
def answer(question, files):
    os._exit(7) if question == "die" else None
    return [question, id(shared), os.getppid()]
nursery = Nursery(lambda: answer_parent(answer))
anew = "from grader.worker.process.child import answer_parent; answer_parent(lambda question, _: [question])"
child = RestartedChild((sys.executable, "-c", anew), environment=os.environ, nursery=nursery)
question, address, parent = child.ask("one", seconds=60)
assert (question, address) == ("one", id(shared)) and parent != os.getpid()
first = child.process
try:
    child.ask("die", seconds=60)
except ChildDied as died:
    assert died.code == 7
assert child.ask("two", seconds=60)[2] == parent and child.process.pid != first.pid
process = child.process
child.stop()
assert process.code == -15
child = RestartedChild((sys.executable, "-c", anew), environment=os.environ, nursery=nursery)
child.ask("three", seconds=60)
os.kill(parent, 9)
orphan = child.process
assert child.ask("four", seconds=60) == ["four"]
assert orphan.code == -9
child.close()
"""


def python(program: str, *arguments: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program, *arguments)


@pytest.fixture
def echo() -> Iterator[AnsweringProcess]:
    with closing(AnsweringProcess(python(ECHO), environment=os.environ)) as process:
        yield process


@pytest.fixture
def stubborn(tmp_path: Path) -> Iterator[Callable[..., tuple[ChildProcess, int]]]:
    """A factory of children that ignore SIGTERM, each with the process id of its own child."""
    started: list[ChildProcess] = []

    def start(**options) -> tuple[ChildProcess, int]:
        path = tmp_path / str(len(started))
        started.append(ChildProcess(python(STUBBORN, str(path)), environment=os.environ, **options))
        eventually(lambda: path.exists() and path.read_text().endswith(" "), "the grandchild")
        return started[-1], int(path.read_text())

    yield start
    for process in started:
        process.close()
    for path in tmp_path.iterdir():
        if psutil.pid_exists(int(path.read_text())):
            os.kill(int(path.read_text()), signal.SIGKILL)


def test_each_request_has_its_response_at_any_length(echo: AnsweringProcess):
    for question in (b"one", b"", b"x" * 3_000_000, b"last"):
        assert echo.ask(question + b"\n", seconds=HANG_SECONDS) == question + b"\n"


def test_open_files_are_passed_with_their_request(echo: AnsweringProcess):
    with TemporaryFile() as first, TemporaryFile() as second:
        for file, content in ((first, b" of"), (second, b" two")):
            file.write(content)
            file.seek(0)
        assert echo.ask(b"files\n", files=(first, second), seconds=HANG_SECONDS) == b"files of two\n"
    assert echo.ask(b"none\n", seconds=HANG_SECONDS) == b"none\n"


def test_late_response_is_an_error(echo: AnsweringProcess):
    with pytest.raises(TimeoutError):
        echo.ask(b"wait\n", seconds=0.1)


def test_dead_child_is_an_error_with_an_exit_code(echo: AnsweringProcess):
    assert echo.code is None
    echo.signal_all(signal.SIGKILL)
    assert echo.ends_within(HANG_SECONDS)
    with pytest.raises(OSError, match=r"Broken pipe|closed its end|reset"):
        echo.ask(b"one\n", seconds=HANG_SECONDS)
    assert echo.code == -signal.SIGKILL


def test_child_that_ends_on_request_is_not_killed(echo: AnsweringProcess):
    echo.stop()
    assert echo.code == -signal.SIGTERM


def test_child_that_ignores_the_request_is_killed(
    stubborn: Callable[..., tuple[ChildProcess, int]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(children, "HAND_BACK_SECONDS", 0.1)
    process, _ = stubborn()
    process.stop()
    assert process.ends_within(HANG_SECONDS)
    assert process.code == -signal.SIGKILL


def test_session_leader_is_ended_with_its_descendants(
    stubborn: Callable[..., tuple[ChildProcess, int]],
):
    process, grandchild = stubborn(leads_session=True)
    process.close()
    eventually(lambda: has_ended(grandchild), "the end of the grandchild")
    alone, grandchild = stubborn()
    alone.close()
    assert alone.code == -signal.SIGKILL
    assert not has_ended(grandchild)


def test_descendants_of_a_dead_leader_are_ended(stubborn: Callable[..., tuple[ChildProcess, int]]):
    process, grandchild = stubborn(leads_session=True)
    os.kill(process.pid, signal.SIGKILL)
    assert process.ends_within(HANG_SECONDS)
    assert not has_ended(grandchild)
    process.close()
    eventually(lambda: has_ended(grandchild), "the end of the grandchild")


def test_repeated_close_and_stop_do_nothing(echo: AnsweringProcess):
    echo.close()
    echo.close()
    echo.stop()
    assert echo.code == -signal.SIGKILL


def test_failed_start_leaves_nothing_open():
    with pytest.raises(FileNotFoundError):
        AnsweringProcess(("/nowhere/at/all",), environment={})


def test_module_command_uses_this_python_and_a_safe_path():
    assert running_module("grader.x", "1") == (sys.executable, "-P", "-m", "grader.x", "1")


def test_forked_children_share_memory_and_a_dead_nursery_is_replaced_by_new_processes():
    subprocess.run(python(FORKING), check=True, timeout=HANG_SECONDS)
