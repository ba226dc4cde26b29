"""Attacks of a metric on the sandbox: one table, one zygote."""

import inspect
import os
import platform
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from grader.sandbox import (
    CallLimits,
    CallStatus,
    SandboxClient,
    SandboxRequest,
    SandboxUnavailable,
    client,
    layers,
    lockdown,
)
from grader.sandbox.functions import PACKAGES, packages_of
from tests.sandbox import hostile_metric

HEAD = (Path(__file__).parent / "hostile_metric.py").read_text().partition("# Forbidden")[0]
MODULES = ("client", "compatibility", "functions", "lockdown")
USUAL, SHORT = CallLimits(), CallLimits(seconds=0.2, memory_mb=128)
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="The sandbox needs Linux.")


@pytest.fixture(scope="module")
def sandbox(sandboxes):
    return sandboxes[0]


def attack(sandbox, name, limits=USUAL, **settings):
    solution = {"id": np.arange(4), "target": np.array([3.0, 1.0, 4.0, 1.0])}
    submission = {"id": np.arange(4), "prediction": np.zeros(4)}
    # The complete file would take longer to parse than the attack takes.
    source = HEAD + inspect.getsource(getattr(hostile_metric, name))
    request = SandboxRequest(source, "score", solution, submission, settings={"attack": name, **settings})
    return sandbox.call(request, limits)


def test_all_layers_are_in_force():
    assert layers().refusal is None
    assert set(layers().in_force) >= {"no_new_privileges", "limits", "undumpable", "parent_death", "seccomp"}
    assert {*layers().in_force, *layers().missing} == set(lockdown.LAYERS)


@pytest.mark.parametrize("name", hostile_metric.FORBIDDEN)
def test_forbidden_operation_fails(sandbox, name):
    outcome = attack(sandbox, name)
    assert outcome.status is CallStatus.ERROR, outcome
    assert outcome.numbers.size == 0


WITHOUT_SANDBOX = """
import os
import hostile_metric
for name, function in hostile_metric.FORBIDDEN.items():
    if (pid := os.fork()) == 0:
        try:
            function()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1] == 0:
        print(name)
"""


@pytest.mark.long
def test_attacks_succeed_without_the_sandbox():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_SANDBOX],
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    assert set(hostile_metric.FORBIDDEN) == set(run.stdout.split())


ENDS = [
    *((name, {}, {CallStatus.TIME}) for name in vars(hostile_metric) if name.startswith("endless_")),
    *((name, {}, {CallStatus.MEMORY}) for name in vars(hostile_metric) if name.startswith("memory_in")),
    ("memory_of_arrays", {}, {CallStatus.MEMORY, CallStatus.ERROR}),
    ("memory_of_text", {}, {CallStatus.MEMORY}),
    ("recursion", {}, {CallStatus.ERROR}),
    ("stack_overflow", {}, {CallStatus.DIED, CallStatus.ERROR}),
    ("leave", {}, {CallStatus.BAD_REPLY}),
    ("leave_with_python", {}, {CallStatus.ERROR}),
    ("abort", {}, {CallStatus.DIED}),
    ("crash", {}, {CallStatus.DIED}),
    ("interrupt", {}, {CallStatus.ERROR}),
    ("silent_error", {}, {CallStatus.ERROR}),
    ("late_import", {}, {CallStatus.ERROR}),
    ("write_short_reply", {}, {CallStatus.BAD_REPLY}),
    ("write_endless_reply", {}, {CallStatus.BAD_REPLY}),
    ("write_part_and_hang", {}, {CallStatus.TIME}),
    # It uses no CPU time, so only the limit of wall time ends it.
    pytest.param("wait_forever", {}, {CallStatus.TIME}, marks=pytest.mark.timeout(20, func_only=True)),
    ("write_reply", {"number": float("nan")}, {CallStatus.NOT_FINITE}),
    ("write_reply", {"number": float("inf")}, {CallStatus.NOT_FINITE}),
    ("write_reply", {"status": 77}, {CallStatus.BAD_REPLY}),
    ("write_reply", {"text": "labels", "repeat": 10_000}, {CallStatus.BAD_REPLY}),
    ("write_reply", {"text": "labels", "status": 1}, {CallStatus.BAD_REPLY}),
    ("replace_numpy", {}, {CallStatus.BAD_REPLY}),
    ("replace_check", {}, {CallStatus.NOT_FINITE}),
    ("tell_labels", {}, {CallStatus.ERROR}),
    ("tell_labels_by_subclass", {}, {CallStatus.ERROR}),
    *(
        ("give", {"what": what}, {CallStatus.NOT_FINITE})
        for what in ("nan", "infinity", "minus infinity", "huge")
    ),
    *(
        ("give", {"what": what}, {CallStatus.WRONG_RESULT})
        for what in ("nothing", "text", "complex", "list", "array", "array of one", "table", "column")
    ),
    *(("give", {"what": what}, {CallStatus.WRONG_RESULT}) for what in ("boolean", "object", "function")),
]
ENDS += [("x32_call", {}, {CallStatus.DIED})] if platform.machine() == "x86_64" else []


def _in_words(value):
    """Return a parameter as text; the order of a set differs between processes."""
    return " or ".join(sorted(value)) if isinstance(value, set) else str(value)[:40]


@pytest.mark.parametrize(("name", "settings", "statuses"), ENDS, ids=_in_words)
def test_attack_ends_with_a_code_and_no_number(sandbox, name, settings, statuses):
    limits = SHORT if CallStatus.TIME in statuses else CallLimits(seconds=60, memory_mb=128)
    outcome = attack(sandbox, name, limits, **settings)
    assert outcome.status in statuses, outcome
    assert outcome.numbers.size == 0
    assert len(outcome.log) <= 16_384


@pytest.mark.parametrize(
    ("what", "value"), [("float32", 0.5), ("integer", 3.0), ("array of no dimension", 0.25)]
)
def test_any_real_number_is_a_score(sandbox, what, value):
    assert attack(sandbox, "give", what=what).numbers.tolist() == [value]


@pytest.mark.parametrize("name", ["write_elsewhere", "read_anything", "secrets", "leave_state"])
def test_child_has_no_access_to_other_descriptors_secrets_or_earlier_calls(sandbox, name):
    for _ in range(2):
        assert attack(sandbox, name).numbers.tolist() == [0.0]


@pytest.mark.skipif(platform.machine() not in lockdown._TABLES, reason="unknown architecture")
def test_every_other_system_call_is_denied(sandbox):
    allowed = sorted(lockdown.allowed_calls(platform.machine()).values())
    # Recent kernels let 335 and 336 of x86_64 pass every filter. Only a probe's own page may call them, and
    # any other caller is killed.
    allowed += [335, 336] if platform.machine() == "x86_64" else []
    assert attack(sandbox, "every_call", allowed=allowed).numbers.tolist() == [600.0 - len(allowed)]


def test_log_is_limited(sandbox):
    outcome = attack(sandbox, "memory_of_output")
    assert outcome.numbers.tolist() == [0.5]
    assert len(outcome.log) == 16_384
    assert outcome.memory_bytes < 64 << 20


def test_labels_stay_in_the_log_for_organizers(sandbox):
    outcome = attack(sandbox, "tell_labels")
    assert outcome.status is CallStatus.ERROR
    assert "3.0, 1.0, 4.0, 1.0" in outcome.log


def test_endless_loop_does_not_block_other_calls(sandbox):
    ended = []
    limits = CallLimits(seconds=3)
    thread = threading.Thread(target=lambda: ended.append(attack(sandbox, "endless_loop", limits).status))
    thread.start()
    assert attack(sandbox, "give", what="integer").status is CallStatus.OK
    assert ended == []
    thread.join()
    assert ended == [CallStatus.TIME]


def test_child_imports_no_module_of_the_project(sandbox):
    source = (
        "import sys\ndef grade(submission, answers):\n"
        "    print(sorted(m for m in sys.modules if m[:7] == 'grader.'))\n"
    )
    outcome = sandbox.call(SandboxRequest(f"{source}    return 1", "grade"))
    names = {name.strip("' ") for name in outcome.log.strip().strip("[]").split(",")}
    assert names == {"grader.sandbox", *(f"grader.sandbox.{each}" for each in MODULES)}
    foreign = SandboxRequest("", "grade", settings={"status": CallStatus.OK})
    assert sandbox.call(foreign).status is CallStatus.DIED


def test_killed_zygote_is_replaced(sandbox):
    own = SandboxClient(packages=("numpy", "pandas"))
    own.start()
    process = own._process
    assert process is not None
    os.kill(process.pid, 9)
    source = "def grade(submission, answers): return 2.5"
    assert own.call(SandboxRequest(source, "grade")).numbers.tolist() == [2.5]
    assert own._process is not process
    own.close()


@pytest.mark.parametrize(
    ("source", "packages"),
    [
        ("import pandas", PACKAGES[:2]),
        ("a.corr(b, method='spearman')", PACKAGES[:3]),
        ("from sklearn.metrics import roc_auc_score", PACKAGES),
    ],
)
def test_only_packages_that_a_source_may_use_are_imported(source, packages):
    assert packages_of(source) == packages


def test_call_is_repeated_if_another_source_needs_more_packages():
    own = SandboxClient()
    slow = "def grade(submission, answers):\n    for _ in range(20_000_000):\n        pass\n    return 1.5"
    numbers: list[float] = []
    request = SandboxRequest(slow, "grade")
    own.start()
    thread = threading.Thread(target=lambda: numbers.extend(own.call(request).numbers))
    thread.start()
    time.sleep(0.3)
    ranks = "import pandas\ndef grade(submission, answers):\n    one = pandas.Series([1.0, 2.0])\n"
    more = SandboxRequest(f"{ranks}    return one.corr(one, 'spearman')", "grade")
    assert own.call(more).numbers == pytest.approx([1.0])
    thread.join()
    assert numbers == [1.5]
    own.close()


@pytest.mark.timeout(60, func_only=True)
def test_locked_child_dies_with_its_zygote(monkeypatch):
    own = SandboxClient(packages=("numpy", "pandas"))
    own.start()
    # It uses no CPU time, so its own limit does not end it.
    source = (
        "import threading\ndef grade(submission, answers):\n    lock = threading.Lock()\n"
        "    while True:\n        lock.acquire()"
    )
    failures: list[BaseException] = []

    def call():
        try:
            own.call(SandboxRequest(source, "grade"), CallLimits(seconds=60))
        except SandboxUnavailable as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    assert own._process is not None
    zygote = own._process.pid
    children = Path(f"/proc/{zygote}/task/{zygote}/children")
    while not (pids := children.read_text().split()):
        time.sleep(0.01)
    child = Path(f"/proc/{pids[0]}")
    while "Seccomp:\t2" not in (child / "status").read_text():
        time.sleep(0.01)
    monkeypatch.setattr(client, "START_SECONDS", 0)  # so that the second zygote fails
    os.kill(zygote, 9)
    try:
        while child.exists():
            time.sleep(0.01)
    finally:
        with suppress(ProcessLookupError):
            os.kill(int(pids[0]), 9)
        own.close()
        thread.join()
