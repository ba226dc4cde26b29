"""Limits of memory and time; detection of dead processes that hold claims."""

import os
import platform
import subprocess
import sys

import psutil
import pytest

from grader.worker import processes
from tests.fixtures.patience import eventually

GREEDY = """
from grader.worker.processes import limit_memory
limit_memory(600)
try:
    bytearray(2 << 30)
except MemoryError:
    print("refused")
"""
FRUGAL = """
import resource
from grader.worker.processes import keep_freed_memory
keep_freed_memory()
def use() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    pieces = [b"1" * (8 << 20) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(use(), use())
"""
ENDLESS = "from grader.worker.processes import end_process_after; end_process_after(1); sum(range(10**12))"


def python(program):
    return subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="Only glibc has these parameters.")
def test_memory_of_a_file_is_reused_for_the_next_one():
    first, second = map(int, python(FRUGAL).stdout.split())
    assert first > 4000 and second < 100


def test_allocation_beyond_the_memory_limit_fails():
    assert python(GREEDY).stdout == "refused\n"


def test_process_ends_at_its_time_limit_even_inside_one_call():
    assert python(ENDLESS).returncode < 0


def name_of(process):
    return f"{processes.machine()}/{process.pid}/{process.create_time():.2f}"


def test_running_process_is_found_by_a_name_that_fits_its_column():
    assert processes.holder_name() == name_of(psutil.Process())
    assert not processes.is_gone(processes.holder_name())
    assert len(processes.holder_name()) <= 120


def test_forked_child_has_its_own_name():
    processes.holder_name()
    code = (
        "import os; from grader.worker import processes; name = processes.holder_name(); "
        "os.write(1, b'%r\\n' % (os.fork() == 0 and name == processes.holder_name()))"
    )
    python = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(python, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"False"}


@pytest.mark.parametrize("is_reaped", [False, True])
def test_killed_process_is_gone_before_its_parent_reaps_it(is_reaped):
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = name_of(psutil.Process(process.pid))
    assert not processes.is_gone(name)
    process.kill()
    if is_reaped:
        process.wait()
    eventually(lambda: processes.is_gone(name), "the end of the holder")
    process.communicate()


def test_another_process_with_the_same_id_is_not_the_holder():
    assert processes.is_gone(f"{processes.machine()}/{os.getpid()}/{psutil.Process().create_time() - 60:.2f}")


def test_suspended_process_is_not_gone():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = psutil.Process(process.pid)
        found.suspend()
        assert not processes.is_gone(name_of(found))
        process.kill()
