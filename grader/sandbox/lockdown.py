"""Process lockdown: permits only computation and writing to one open pipe.

The layers are independent, so that a fault in one of them opens nothing. Only seccomp is indispensable.
Executed as a program, this module locks itself, tries what must fail, and prints the layers in force.
"""

import ctypes
import errno
import json
import os
import platform
import resource
import signal
import struct
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# The audit code of each architecture, and the names and numbers of the allowed calls.
_TABLES = {
    "x86_64": (
        0xC000003E,
        "write 1, mmap 9, mprotect 10, munmap 11, brk 12, rt_sigaction 13, rt_sigprocmask 14, "
        "rt_sigreturn 15, sched_yield 24, mremap 25, madvise 28, getpid 39, exit 60, gettimeofday 96, "
        "getrusage 98, sigaltstack 131, gettid 186, time 201, futex 202, sched_getaffinity 204, "
        "restart_syscall 219, clock_gettime 228, clock_getres 229, exit_group 231",
    ),
    "aarch64": (
        0xC00000B7,
        "write 64, exit 93, exit_group 94, futex 98, clock_gettime 113, clock_getres 114, "
        "sched_getaffinity 123, sched_yield 124, restart_syscall 128, sigaltstack 132, rt_sigaction 134, "
        "rt_sigprocmask 135, rt_sigreturn 139, getrusage 165, gettimeofday 169, getpid 172, gettid 178, "
        "brk 214, munmap 215, mremap 216, mmap 222, mprotect 226, madvise 233",
    ),
}
_FIRST_X32_CALL = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _DENY, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in the data of a filter
_PROT_EXEC, _FIRST_PRIVILEGED_ADVICE = 4, 100

_SET_PARENT_DEATH_SIGNAL, _SET_DUMPABLE, _SET_SECCOMP, _SET_NO_NEW_PRIVILEGES = 1, 4, 22, 38
_FILTER_MODE = 2
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same numbers on all architectures
# The numbers of rights to files, to the network and across processes that each Landlock version knows.
_LANDLOCK_RIGHTS = ((13, 0, 0), (14, 0, 0), (15, 0, 0), (15, 2, 0), (16, 2, 0), (16, 2, 2))
# New namespaces for users, networks, mounts, shared memory, host names and control groups.
_NAMESPACES = 0x10000000 | 0x40000000 | 0x00020000 | 0x08000000 | 0x04000000 | 0x02000000
_MEBIBYTE = 1 << 20
_PROBE_SECONDS = 30

LAYERS: Mapping[str, str] = {
    "no_new_privileges": "no new privileges",
    "namespaces": "own namespaces",
    "landlock": "Landlock",
    "limits": "resource limits",
    "undumpable": "no tracing",
    "parent_death": "ends with its parent",
    "seccomp": "seccomp",
}


def isolate() -> str:
    """Move this process into new namespaces; return an empty string, or the reason why not.

    A new network namespace takes 15 ms, so the zygote calls this once for all its children.
    """
    return _failure(_libc().unshare(_NAMESPACES))


def lock(output: int, *, cpu_seconds: int, memory_mb: int, parent: int) -> dict[str, str]:
    """Lock this process for good; return the reasons for missing layers, or raise OSError without seccomp.

    Only the descriptor `output` stays writable; callers close all others. `memory_mb` is in addition to the
    current memory. The process ends with its parent, whose id is `parent`.
    """
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise OSError(errno.EBUSY, "another thread would stay unlocked")
    missing = dict[str, str]()
    pages = int(Path("/proc/self/statm").read_text().split()[0])  # while files can be read
    memory = pages * resource.getpagesize() + memory_mb * _MEBIBYTE
    _require(_prctl(_SET_NO_NEW_PRIVILEGES, 1))
    if reason := _restrict_files():
        missing["landlock"] = reason
    for limit, value in (
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
        (resource.RLIMIT_NOFILE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (allowed, allowed))
    _require(_prctl(_SET_DUMPABLE, 0))
    _require(_prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL))
    if os.getppid() != parent:  # it has died before the signal was set
        os._exit(1)
    _filter_calls(output)
    return missing


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, *values: int) -> int:
    arguments = [ctypes.c_ulong(each) for each in (*values, 0, 0, 0, 0)[:4]]
    return int(_libc().prctl(ctypes.c_int(option), *arguments))


def _failure(result: int) -> str:
    return os.strerror(ctypes.get_errno()) if result < 0 else ""


def _require(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _restrict_files() -> str:
    """Deny access to files and, if the kernel can, to TCP and other processes; return why not."""
    call = _libc().syscall
    version = int(call(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1)))
    if version < 1:
        return _failure(version)
    rights = [(1 << count) - 1 for count in _LANDLOCK_RIGHTS[min(version, len(_LANDLOCK_RIGHTS)) - 1]]
    data = struct.pack("=QQQ", *rights)[: 8 if version < 4 else 16 if version < 6 else 24]
    rules = int(call(_LANDLOCK_CREATE, data, ctypes.c_size_t(len(data)), ctypes.c_uint(0)))
    if rules < 0:
        return _failure(rules)
    reason = _failure(int(call(_LANDLOCK_RESTRICT, ctypes.c_int(rules), ctypes.c_uint(0))))
    os.close(rules)
    return reason


def allowed_calls(machine: str) -> dict[str, int]:
    """Return the allowed system calls of an architecture; four of them have conditions."""
    return {name: int(number) for name, number in map(str.split, _TABLES[machine][1].split(", "))}


def filter_program(machine: str, output: int) -> bytes:
    """Return the seccomp filter of an architecture: everything is denied except the calls in the table."""
    architecture, plain = _TABLES[machine][0], allowed_calls(machine)
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _FIRST_X32_CALL),
        (_RETURN, 0, 0, _KILL),
    ]
    for name, argument, test, value in (
        ("write", 0, _EQUAL, output),
        ("mmap", 2, _ANY_BIT, _PROT_EXEC),
        ("mprotect", 2, _ANY_BIT, _PROT_EXEC),
        ("madvise", 2, _AT_LEAST, _FIRST_PRIVILEGED_ADVICE),
    ):
        answers = (_ALLOW, _DENY) if name == "write" else (_DENY, _ALLOW)
        program += [
            (_EQUAL, 0, 4, plain.pop(name)),
            (_LOAD, 0, 0, _ARGUMENTS + argument * 8),
            (test, 0, 1, value),
            *((_RETURN, 0, 0, each) for each in answers),
        ]
    for number in plain.values():
        program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    program.append((_RETURN, 0, 0, _DENY))
    return b"".join(struct.pack("=HBBI", *each) for each in program)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def _filter_calls(output: int) -> None:
    machine = platform.machine()
    if machine not in _TABLES:
        raise OSError(errno.ENOSYS, f"there is no list of system calls for {machine}")
    instructions = ctypes.create_string_buffer(filter_program(machine, output))
    program = _Program(len(instructions) // 8, ctypes.cast(instructions, ctypes.c_void_p).value)
    _require(_prctl(_SET_SECCOMP, _FILTER_MODE, ctypes.addressof(program)))


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers that lock a process on this machine (keys of `LAYERS`), and why others are missing."""

    in_force: tuple[str, ...]
    missing: Mapping[str, str]

    @property
    def refusal(self) -> str | None:
        """The reason why organizers' functions must not run on this machine, or None."""
        reason = self.missing.get("seccomp")
        if reason is None:
            return None
        return f"Metrics written in Python need seccomp, which is not available here: {reason}."

    def __str__(self) -> str:
        present = ", ".join(LAYERS[each] for each in self.in_force)
        absent = "; ".join(f"{LAYERS[name]}: {reason}" for name, reason in self.missing.items())
        return f"{present or 'none'}" + (f" (missing: {absent})" if absent else "")


def layers() -> Layers:
    """Return the layers in force, as measured once in a process that locks itself."""
    if not sys.platform.startswith("linux"):
        return Layers((), dict.fromkeys(LAYERS, "it exists only on Linux"))
    try:
        return _measured_layers()
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = f"the test of the lock-down failed ({type(error).__name__})"
        return Layers((), dict.fromkeys(LAYERS, reason))


@cache
def _measured_layers() -> Layers:
    command = (sys.executable, "-I", "-S", str(Path(__file__)))
    environment = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    run = subprocess.run(command, capture_output=True, timeout=_PROBE_SECONDS, check=True, env=environment)
    missing = dict(json.loads(run.stdout))
    return Layers(tuple(name for name in LAYERS if name not in missing), missing)


def _probe() -> dict[str, str]:
    """Lock this process, and return the missing layers."""
    reason = isolate()
    missing = {"namespaces": reason} if reason else {}
    os.closerange(2, 256)
    try:
        missing |= lock(1, cpu_seconds=10, memory_mb=256, parent=os.getppid())
    except OSError as error:
        return missing | {"seccomp": error.strerror or str(error)}
    for attempt in (lambda: os.open("/", os.O_RDONLY), lambda: os.kill(os.getpid(), 0), os.pipe):
        with suppress(OSError):
            attempt()
            missing["seccomp"] = "a forbidden call succeeded"
    return missing


if __name__ == "__main__":
    os.write(1, json.dumps(_probe()).encode())
