"""The sandbox: memory, time, and a parent that is gone."""

import os
import subprocess
import sys

import psutil
import pytest

from grader.models import SubmissionStatus
from grader.worker.children.job_child import JobChild
from tests.fixtures.guarded import has_ended
from tests.fixtures.patience import HANG_SECONDS, eventually

pytestmark = pytest.mark.system

GREEDY = """
from grader.worker.process.ending import limit_memory
limit_memory(600)
try:
    bytearray(2 << 30)
except MemoryError:
    print("refused")
"""
ENDLESS = (
    "from grader.worker.process.ending import end_process_after; end_process_after(1); sum(range(10**12))"
)
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_SECONDS
    )


def test_more_memory_than_the_limit_is_refused():
    assert python(GREEDY).stdout == "refused\n"


def test_a_process_ends_at_its_time_limit_even_inside_one_call():
    assert python(ENDLESS).returncode < 0


def scoring_processes(parent: psutil.Process) -> list[psutil.Process]:
    return [child for child in parent.children() if "grader.worker.children.job_program" in child.cmdline()]


@on_sqlite
def test_a_child_scores_one_job_after_another_and_is_started_again_when_it_died(service):
    competition = service.competition()
    accepted = [service.submit(competition, seed=seed) for seed in range(3)]
    with JobChild(service.settings) as child:
        assert child.score(accepted[0].job_ids[0])
        [process] = scoring_processes(psutil.Process())
        assert child.score(accepted[1].job_ids[0])
        process.kill()
        process.wait()
        assert child.score(accepted[2].job_ids[0])
    assert scoring_processes(psutil.Process()) == []
    assert {service.submission(each).status for each in accepted} == {SubmissionStatus.SCORED}


@on_sqlite
def test_a_child_ends_when_its_parent_is_gone(service, tmp_path):
    program = (
        "import os, psutil, signal\n"
        "from grader.settings import load\n"
        "from grader.worker.children.job_child import JobChild\n"
        "child = JobChild(load())\n"
        "child.score(0)\n"
        "print(psutil.Process().children()[0].pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = os.environ | service.settings.environment()
    parent = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    pid = int(parent.stdout)
    eventually(lambda: has_ended(pid), "the end of the process")
