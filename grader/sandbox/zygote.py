"""Zygote process that imports the metric packages and forks a sandboxed process for each call.

The client starts it with a built environment, so that it inherits no secrets. It reads no request itself:
only the child does. A socket per call tells the zygote that the client has given up, and the client how the
child has ended.
"""

import gc
import importlib
import json
import os
import pickle
import pkgutil
import resource
import select
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.sandbox import functions
from grader.sandbox.functions import PACKAGES, READY
from grader.sandbox.lockdown import isolate, lock

# With some of these packages, pandas computes differently or starts threads. Others are slow.
_HIDDEN = {
    *("bottleneck", "cudf", "cupy", "dask", "duckdb", "hypothesis", "ibis", "IPython", "jax", "matplotlib"),
    *("modin", "mypy", "numba", "numexpr", "polars", "pyarrow", "pyspark", "pytest", "sqlframe", "torch"),
}
# Submodules that no function of a package imports, that start programs, or that are slow.
_SKIPPED = {
    *("__main__", "_build_utils", "_examples", "_precompute", "_pyinstaller", "conftest", "cupy", "dask"),
    *("distutils", "f2py", "jax", "mypy_plugin", "tests", "this", "torch"),
}
_REPLY = 3
_NICENESS = 5


class _HiddenPackages:
    """An import finder for which hidden packages are not installed."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name.partition(".")[0] in _HIDDEN:
            raise ModuleNotFoundError(f"The package {name!r} is not available to metrics.", name=name)


class _ArrayUnpickler(pickle.Unpickler):
    """An unpickler limited to builtins and arrays, so that no project code is imported."""

    def find_class(self, module: str, name: str) -> Any:
        if module.partition(".")[0] != "numpy":
            raise pickle.UnpicklingError(f"A request contains {module}.{name}.")
        return super().find_class(module, name)


def main(packages: Sequence[str]) -> None:
    """Import the packages, and fork a child for each call until all clients have closed the socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the client handles Ctrl-C
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))  # the client's own limit is for its files
    import_packages(packages)
    functions.warm_up()
    isolate()
    gc.collect()
    gc.freeze()  # collections in children would copy the memory that they share
    with socket.socket(fileno=sys.stdin.fileno()) as control:
        control.send(READY)
        _serve(control)


def import_packages(packages: Sequence[str] = PACKAGES) -> None:
    """Import all modules of the installed packages; hide other packages."""
    sys.meta_path.insert(0, _HiddenPackages)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*packages, *(["narwhals"] if "sklearn" in packages else [])):
            with suppress(ModuleNotFoundError):
                _import_all(importlib.import_module(name))


def _import_all(module: ModuleType) -> None:
    """Import all submodules, because functions that import one when they are called fail in a child."""
    for each in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if each.name not in _SKIPPED:
            with suppress(Exception, SystemExit):  # some need packages that are not installed
                submodule = importlib.import_module(f"{module.__name__}.{each.name}")
                if each.ispkg:
                    _import_all(submodule)


def _serve(control: socket.socket) -> None:
    """Fork children, report their ends, and kill those whose client has closed the socket of the call."""
    woken, waker = socket.socketpair()
    for each in (woken, waker):
        each.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    calls = dict[int, socket.socket]()  # by the child's id
    while True:
        events = select.poll()
        for source in (control, woken, *(each for each in calls.values() if each.fileno() >= 0)):
            events.register(source, select.POLLIN)
        ready = {descriptor for descriptor, _ in events.poll()}
        for pid, call in calls.items():
            if call.fileno() in ready:
                os.kill(pid, signal.SIGKILL)  # not reaped yet, so the id is not reused
                call.close()
        if woken.fileno() in ready:
            with suppress(BlockingIOError):
                woken.recv(4096)
        while calls and (ended := os.wait4(-1, os.WNOHANG))[0]:
            _report(calls.pop(ended[0]), ended[1], ended[2])
        if control.fileno() in ready:
            message, files, _, _ = socket.recv_fds(control, 4096, 3)
            if not message:
                return  # the children end with this process
            request, reply, channel = files
            call = socket.socket(fileno=channel)
            with suppress(OSError), call:  # too many processes; the client sees the closed socket
                calls[_fork(request, reply, json.loads(message))] = call.dup()
            os.close(request)
            os.close(reply)


def _report(call: socket.socket, status: int, usage: resource.struct_rusage) -> None:
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = {
        "code": os.waitstatus_to_exitcode(status),
        "cpu": usage.ru_utime + usage.ru_stime,
        "memory": max(usage.ru_maxrss - baseline, 0) * 1024,
    }
    with suppress(OSError), call:  # the client may have given up
        call.send(json.dumps(report).encode())


def _fork(request: int, reply: int, limits: dict[str, int]) -> int:
    parent = os.getpid()
    if pid := os.fork():
        return pid
    try:
        _run(request, reply, limits, parent)
    finally:
        os._exit(1)


def _run(request: int, reply: int, limits: dict[str, int], parent: int) -> None:
    """Read the request, lock this process, call the function, and write the reply."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.nice(_NICENESS)
    with open(request, "rb") as file:
        data: dict[str, Any] = _ArrayUnpickler(file).load()
    functions.import_modules_of(data["source"])
    reply = os.dup2(os.dup(reply), _REPLY) if reply != _REPLY else reply
    for each in Path("/proc/self/fd").iterdir():
        if int(each.name) != _REPLY:
            with suppress(OSError):
                os.close(int(each.name))
    sys.stdin = None
    lock(_REPLY, cpu_seconds=limits["cpu_seconds"], memory_mb=limits["memory_mb"], parent=parent)
    data_out = memoryview(functions.reply(data))
    while data_out:
        data_out = data_out[os.write(_REPLY, data_out) :]
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:] or PACKAGES)
