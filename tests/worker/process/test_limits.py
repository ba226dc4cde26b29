"""Limits of memory and time."""

import platform
import subprocess
import sys

import pytest

GREEDY = """
from grader.worker.process.limits import limit_memory
limit_memory(600)
try:
    bytearray(2 << 30)
except MemoryError:
    print("refused")
"""
FRUGAL = """
import resource
from grader.worker.process.limits import keep_freed_memory
keep_freed_memory()
def use() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    pieces = [b"1" * (8 << 20) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(use(), use())
"""
ENDLESS = (
    "from grader.worker.process.limits import end_process_after; end_process_after(1); sum(range(10**12))"
)


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
