"""The filter of system calls for each architecture, interpreted, because tests run on one of them."""

import os
import re
import resource
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.sandbox import lockdown
from grader.sandbox.lockdown import LAYERS, Layers, allowed_calls, filter_program

ALLOW, DENY, KILL = 0x7FFF0000, 0x00050001, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
LIMITS = {"CPU": 7, "FSIZE": 0, "NPROC": 0, "CORE": 0, "MEMLOCK": 0, "NOFILE": 0}
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def verdict(program, architecture, number, *arguments):
    """Run a filter on a system call."""
    data = struct.pack("<iIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    instructions = list(struct.iter_unpack("=HBBI", program))
    place = value = 0
    while True:
        code, if_true, if_false, operand = instructions[place]
        place += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("<I", data, operand)
            case 0x06:
                return operand
            case 0x15:
                place += if_true if value == operand else if_false
            case 0x35:
                place += if_true if value >= operand else if_false
            case 0x45:
                place += if_true if value & operand else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_filter_allows_only_the_listed_calls(machine):
    program, architecture = filter_program(machine, 3), ARCHITECTURES[machine]
    calls = allowed_calls(machine)
    for number in range(1000):
        expected = ALLOW if number in calls.values() else DENY
        assert verdict(program, architecture, number, 3) == expected, number
    assert verdict(program, ARCHITECTURES["aarch64" if machine == "x86_64" else "x86_64"], 1, 3) == KILL
    assert verdict(program, 0x40000003, 4, 3) == KILL  # 32-bit x86
    assert verdict(program, architecture, 0x40000000 + calls["getpid"]) == KILL
    assert verdict(program, architecture, -1) == KILL


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_filter_checks_arguments(machine):
    program, architecture, calls = filter_program(machine, 3), ARCHITECTURES[machine], allowed_calls(machine)
    for descriptor in (0, 1, 2, 4, 5, 2**32 - 1):
        assert verdict(program, architecture, calls["write"], descriptor) == DENY
    for name in ("mmap", "mprotect"):
        for protection, expected in ((0, ALLOW), (1, ALLOW), (3, ALLOW), (4, DENY), (5, DENY), (7, DENY)):
            assert verdict(program, architecture, calls[name], 0, 4096, protection) == expected
    for advice, expected in ((4, ALLOW), (14, ALLOW), (100, DENY), (101, DENY)):
        assert verdict(program, architecture, calls["madvise"], 0, 4096, advice) == expected


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_numbers_are_those_of_the_kernel_headers(machine):
    if not HEADERS[machine].exists():
        pytest.skip("the kernel headers are not installed")
    found = dict(
        re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)$", HEADERS[machine].read_text(), re.MULTILINE)
    )
    calls = allowed_calls(machine)
    assert calls == {name: int(found[name]) for name in calls}


def test_only_seccomp_is_indispensable():
    others = {name: "no" for name in LAYERS if name != "seccomp"}
    assert Layers(("seccomp",), others).refusal is None
    assert "need seccomp, which is not available here: no." in str(
        Layers((), {**others, "seccomp": "no"}).refusal
    )
    assert str(Layers(("seccomp",), {"landlock": "no"})) == "seccomp (missing: Landlock: no)"


def test_other_systems_have_no_layer(monkeypatch):
    monkeypatch.setattr(lockdown.sys, "platform", "darwin")
    assert lockdown.layers().refusal is not None


def test_failed_measurement_is_repeated(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(lockdown, "_PROBE_SECONDS", 0)
        lockdown._measured_layers.cache_clear()
        assert "the test of the lock-down failed (TimeoutExpired)" in str(lockdown.layers().refusal)
    assert lockdown.layers().refusal is None


def test_process_with_two_threads_is_not_locked():
    with ThreadPoolExecutor() as executor:
        executor.submit(int).result()
        with pytest.raises(OSError, match="another thread would stay unlocked"):
            lockdown.lock(1, cpu_seconds=1, memory_mb=1, parent=os.getppid())


LOCK = """
import os, sys, threading
from lockdown import lock
lock(1, cpu_seconds=7, memory_mb=64, parent=int(sys.argv[1]))
os.write(1, b"locked")
waiting = threading.Lock()
while True:
    waiting.acquire()
"""


@contextmanager
def lock_process(parent):
    """Start a process that locks itself; yield it with its output."""
    command = (sys.executable, "-c", LOCK, str(parent))
    folder = Path(lockdown.__file__).parent
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.read(6)
        finally:
            process.kill()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="The sandbox needs Linux.")
def test_locked_process_has_limits():
    with lock_process(parent=os.getpid()) as (process, output):
        assert output == b"locked"
        limits = {
            name: resource.prlimit(process.pid, getattr(resource, f"RLIMIT_{name}"))
            for name in (*LIMITS, "AS")
        }
    memory = limits.pop("AS")
    assert 0 < memory[0] == memory[1] < 2**30
    assert limits == {name: (value, value) for name, value in LIMITS.items()}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="The sandbox needs Linux.")
def test_process_whose_parent_has_died_ends_instead_of_being_locked():
    with lock_process(parent=1 << 30) as (process, output):
        assert output == b""
        assert process.wait() == 1
