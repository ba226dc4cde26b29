"""Detection of dead processes that hold claims."""

import os
import subprocess
import sys

import psutil
import pytest

from grader.worker.process import holders
from tests.fixtures.patience import eventually


def name_of(process):
    return f"{holders.machine()}/{process.pid}/{process.create_time():.2f}"


def test_running_process_is_found_by_a_name_that_fits_its_column():
    assert holders.name() == name_of(psutil.Process())
    assert not holders.is_gone(holders.name())
    assert len(holders.name()) <= 120


def test_forked_child_has_its_own_name():
    holders.name()
    code = (
        "import os; from grader.worker.process import holders; name = holders.name(); "
        "os.write(1, b'%r\\n' % (os.fork() == 0 and name == holders.name()))"
    )
    python = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(python, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"False"}


@pytest.mark.parametrize("is_reaped", [False, True])
def test_killed_process_is_gone_before_its_parent_reaps_it(is_reaped):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = name_of(psutil.Process(process.pid))
    assert not holders.is_gone(name)
    process.kill()
    if is_reaped:
        process.wait()
    eventually(lambda: holders.is_gone(name), "the end of the holder")
    process.communicate()


def test_another_process_with_the_same_id_is_not_the_holder():
    assert holders.is_gone(f"{holders.machine()}/{os.getpid()}/{psutil.Process().create_time() - 60:.2f}")


def test_suspended_process_is_not_gone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = psutil.Process(process.pid)
        found.suspend()
        assert not holders.is_gone(name_of(found))
        process.kill()
