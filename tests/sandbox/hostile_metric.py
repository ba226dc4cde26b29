"""A metric that attacks the sandbox; the setting `attack` names the function.

Functions in `FORBIDDEN` return if the forbidden operation succeeded, and raise an error if it failed. They
have no lasting effect, so that a test can run them without the sandbox too.
"""

import ctypes
import ctypes.util
import inspect
import io
import mmap
import os
import platform
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading

import numpy as np

FORBIDDEN = {}
REPLY = 3


def forbidden(function):
    FORBIDDEN[function.__name__] = function
    return function


def score(solution, submission, row_id_column_name, attack="", **settings):
    if attack in FORBIDDEN:
        FORBIDDEN[attack]()
        return 1.0
    return globals()[attack](solution, submission, **settings)


def libc(name, *arguments):
    """Call a C function; raise an error if it returns -1."""
    result = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result in (-1, 0xFFFFFFFF, None):
        raise OSError(ctypes.get_errno(), name)
    return result


# Forbidden operations. `every_call` tries all other system calls.


@forbidden
def open_file():
    open("/etc/passwd").read()


@forbidden
def environment_of_the_parent():
    open(f"/proc/{os.getppid()}/environ", "rb").read()


@forbidden
def open_tcp_socket():
    socket.socket().close()


@forbidden
def run_program():
    subprocess.run(["true"], check=True)


@forbidden
def fork():
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@forbidden
def start_thread():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


@forbidden
def signal_parent():
    os.kill(os.getppid() if os.getppid() > 0 else 1, 0)


@forbidden
def raise_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft - 1, 1), hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@forbidden
def map_executable():
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)


@forbidden
def make_executable():
    memory = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc("mprotect", ctypes.c_void_p(address), ctypes.c_size_t(4096), 7)


# Attacks with a certain result. Their parameters are the two tables.


def every_call(solution, submission, allowed):
    """Return the number of system calls that fail, or minus the first one that does not fail with EPERM."""
    call, denied = ctypes.CDLL(None, use_errno=True).syscall, 0
    for number in range(600):
        if number in allowed:
            continue
        ctypes.set_errno(0)
        result = call(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
        if result != -1 or ctypes.get_errno() != 1:
            return -float(number)
        denied += 1
    return float(denied)


def x32_call(solution, submission):
    ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 39))
    return 1.0


def write_elsewhere(solution, submission):
    for descriptor in (0, 1, 2, *range(4, 256)):
        try:
            os.write(descriptor, b"x")
        except OSError:
            continue
        return 1.0
    return 0.0


def read_anything(solution, submission):
    for descriptor in range(256):
        try:
            os.read(descriptor, 1)
        except OSError:
            continue
        return 1.0
    return 0.0


def secrets(solution, submission):
    text = repr(os.environ) + repr(sys.argv) + repr(sys.path)
    return float("canary" in text or "FAIRBOARD" in text)


def endless_loop(solution, submission):
    while True:
        pass


def endless_loop_in_c(solution, submission):
    return float(sum(range(10**15)))


def endless_pattern(solution, submission):
    return float(bool(re.match(r"(a+)+$", "a" * 60 + "b")))


def endless_number(solution, submission):
    return float(len(str(3 ** (3**18))))


def endless_handler(solution, submission):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGALRM):
        signal.signal(number, lambda *_: None)
    while True:
        pass


def endless_destructor(solution, submission):
    class Endless:
        def __del__(self):
            while True:
                pass

    Endless()
    return 1.0


def endless_error(solution, submission):
    class Endless(Exception):
        def __str__(self):
            while True:
                pass

    raise Endless


def memory_in_one_piece(solution, submission):
    return float(len(bytes(1 << 40)))


def memory_in_pieces(solution, submission):
    pieces = []
    while True:
        pieces.append(bytearray(1 << 20))


def memory_of_arrays(solution, submission):
    return float(np.ones(1 << 33).sum())


def memory_of_text(solution, submission):
    return float(len("a" * (1 << 36)))


def memory_of_output(solution, submission):
    for _ in range(100):
        print("labels" * 1_000_000)
    return 0.5


def recursion(solution, submission):
    return recursion(solution, submission)


def stack_overflow(solution, submission):
    sys.setrecursionlimit(1 << 30)
    value = ()
    for _ in range(10**6):
        value = (value,)
    return float(hash(value))


def leave(solution, submission):
    os._exit(0)


def leave_with_python(solution, submission):
    sys.exit(0)


def abort(solution, submission):
    os.abort()


def crash(solution, submission):
    return float(len(ctypes.string_at(0)))


def interrupt(solution, submission):
    raise KeyboardInterrupt


def silent_error(solution, submission):
    class Silent(Exception):
        def __str__(self):
            raise ValueError

    raise Silent


def late_import(solution, submission):
    exec("import xmlrpc.server")
    return 1.0


def write_reply(solution, submission, text="", number=0.0, status=0, repeat=1):
    """Write a reply of its own, and leave."""
    os.write(REPLY, text.encode() * repeat + np.array([number]).tobytes() + bytes([status]))
    os._exit(0)


def write_short_reply(solution, submission):
    os.write(REPLY, b"\0" * 8)
    os._exit(0)


def write_endless_reply(solution, submission):
    while True:
        os.write(REPLY, bytes(1 << 16))


def write_part_and_hang(solution, submission):
    os.write(REPLY, b"\0" * 8)
    while True:
        pass


def wait_forever(solution, submission):
    lock = threading.Lock()
    while True:
        lock.acquire()


def replace_numpy(solution, submission):
    np.isfinite = lambda _: np.array(True)
    np.asarray = lambda *_, **__: np.zeros(0)
    np.mean = lambda *_: 1.0
    return 1.0


def replace_check(solution, submission):
    np.isfinite = lambda _: np.array(True)
    return float("nan")


def leave_state(solution, submission):
    before = getattr(np, "left_behind", 0.0)
    np.left_behind, np.mean = 1.0, None
    io.open = inspect.signature = platform.machine = random.random = None
    return float(before)


def tell_labels(solution, submission):
    class ParticipantVisibleError(Exception):
        pass

    raise ParticipantVisibleError(f"The labels are {solution['target'].tolist()}")


def tell_labels_by_subclass(solution, submission):
    import kaggle_metric_utilities

    class Renamed(kaggle_metric_utilities.ParticipantVisibleError):
        pass

    raise Renamed(f"The labels are {solution['target'].tolist()}")


def give(solution, submission, what):
    class Float:
        def __float__(self):
            return 1.0

    values = {
        "nan": float("nan"),
        "infinity": float("inf"),
        "minus infinity": -np.inf,
        "nothing": None,
        "text": "1.0",
        "complex": 1 + 0j,
        "list": [1.0],
        "array": np.ones(2),
        "array of one": np.ones(1),
        "table": solution,
        "column": solution["target"],
        "boolean": True,
        "object": Float(),
        "function": give,
        "huge": 10**400,
        "float32": np.float32(0.5),
        "integer": 3,
        "array of no dimension": np.array(0.25),
    }
    return values[what]
