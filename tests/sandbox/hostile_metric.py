"""A metric that attacks the sandbox; the setting `attack` names the function.

Functions in `FORBIDDEN` return if the forbidden operation succeeded, and raise an error if it failed. They
have no lasting effect, so that a test can run them without the sandbox too.
"""

import asyncio
import ctypes
import ctypes.util
import fcntl
import glob
import inspect
import io
import mmap
import multiprocessing
import multiprocessing.shared_memory
import os
import pathlib
import platform
import random
import re
import resource
import select
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import uuid

import numpy as np
import pandas as pd

FORBIDDEN = {}
CLONE_VM_THREAD = 0x100 | 0x10000 | 0x200 | 0x400 | 0x800
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


# Files


@forbidden
def open_file():
    open("/etc/passwd").read()


@forbidden
def open_at():
    os.close(os.open("/", os.O_RDONLY))


@forbidden
def open_path_only():
    os.close(os.open("/", os.O_PATH))


@forbidden
def open_with_c():
    ctypes.CDLL(None).fopen.restype = ctypes.c_void_p
    if not ctypes.CDLL(None, use_errno=True)["fopen"](b"/etc/passwd", b"r"):
        raise OSError(ctypes.get_errno(), "fopen")


@forbidden
def list_folder():
    os.listdir("/")


@forbidden
def list_by_pattern():
    if not glob.glob("/*"):
        raise OSError


@forbidden
def file_status():
    os.stat("/etc/passwd")


@forbidden
def file_exists():
    if not os.access("/etc/passwd", os.R_OK):
        raise OSError


@forbidden
def current_folder():
    os.getcwd()


@forbidden
def read_link():
    os.readlink("/proc/self/exe")


@forbidden
def write_file():
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"labels")


@forbidden
def make_folder():
    os.rmdir(tempfile.mkdtemp())


@forbidden
def make_link():
    path = os.path.join("/tmp", uuid.uuid4().hex)
    os.symlink("/etc", path)
    os.unlink(path)


@forbidden
def make_fifo():
    path = os.path.join("/tmp", uuid.uuid4().hex)
    os.mkfifo(path)
    os.unlink(path)


@forbidden
def free_space():
    shutil.disk_usage("/")


@forbidden
def read_with_numpy():
    np.fromfile("/etc/passwd", dtype=np.uint8)


@forbidden
def map_with_numpy():
    np.memmap("/etc/passwd", mode="r")


@forbidden
def read_with_pandas():
    pd.read_csv("/etc/passwd", sep=":", header=None)


@forbidden
def write_with_pandas():
    with tempfile.TemporaryDirectory() as folder:
        pd.DataFrame({"a": [1]}).to_csv(pathlib.Path(folder, "a.csv"))


@forbidden
def database_file():
    with tempfile.TemporaryDirectory() as folder:
        sqlite3.connect(os.path.join(folder, "a.sqlite")).execute("CREATE TABLE a (b)").connection.close()


@forbidden
def load_library():
    ctypes.CDLL("libsqlite3.so.0" if os.path.exists("/nonexistent") else "libm.so.6", mode=ctypes.RTLD_GLOBAL)
    os.stat("/")  # a library that is already loaded needs no file


@forbidden
def watch_files():
    os.close(libc("inotify_init"))


# /proc and the environment


@forbidden
def environment_of_this_process():
    open("/proc/self/environ", "rb").read()


@forbidden
def memory_map():
    open("/proc/self/maps").read()


@forbidden
def memory_of_this_process():
    open("/proc/self/mem", "rb").close()


@forbidden
def environment_of_the_parent():
    open(f"/proc/{os.getppid()}/environ", "rb").read()


@forbidden
def descriptors_of_this_process():
    os.listdir("/proc/self/fd")


# Descriptors


@forbidden
def open_pipe():
    for each in os.pipe():
        os.close(each)


@forbidden
def duplicate():
    os.close(os.dup(REPLY if sys.stdin is None else 1))


@forbidden
def duplicate_with_fcntl():
    os.close(fcntl.fcntl(REPLY if sys.stdin is None else 1, fcntl.F_DUPFD, 10))


@forbidden
def descriptor_status():
    os.fstat(REPLY if sys.stdin is None else 1)


@forbidden
def make_memory_file():
    os.close(os.memfd_create("a"))


@forbidden
def make_event_queue():
    select.epoll().close()


@forbidden
def wait_for_descriptors():
    select.select([REPLY if sys.stdin is None else 1], [], [], 0)


@forbidden
def event_loop():
    asyncio.new_event_loop().close()


# Network


@forbidden
def open_tcp_socket():
    socket.socket().close()


@forbidden
def open_udp_socket():
    socket.socket(type=socket.SOCK_DGRAM).close()


@forbidden
def open_unix_socket():
    socket.socket(socket.AF_UNIX).close()


@forbidden
def open_socket_pair():
    for each in socket.socketpair():
        each.close()


@forbidden
def open_netlink_socket():
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()


@forbidden
def listen():
    with socket.create_server(("127.0.0.1", 0)):
        pass


@forbidden
def resolve_name():
    socket.getaddrinfo("localhost", 80)


@forbidden
def request_file_address():
    urllib.request.urlopen("file:///etc/passwd").close()


# Programs, processes and threads


@forbidden
def run_program():
    subprocess.run(["true"], check=True)


@forbidden
def run_shell():
    if os.system("true"):
        raise OSError


@forbidden
def spawn_program():
    os.waitpid(os.posix_spawn("/bin/true", ["true"], {}), 0)


@forbidden
def open_command():
    os.popen("true").close()


@forbidden
def fork():
    if (pid := os.fork()) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@forbidden
def fork_with_c():
    if (pid := libc("fork")) == 0:
        os._exit(0)
    os.waitpid(pid, 0)


@forbidden
def fork_with_multiprocessing():
    process = multiprocessing.get_context("fork").Process(target=int)
    process.start()
    process.join()


@forbidden
def start_thread():
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


@forbidden
def start_thread_with_c():
    identity = ctypes.c_ulong()
    start = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p)
    if ctypes.CDLL(None).pthread_create(ctypes.byref(identity), None, start, None):
        raise OSError
    ctypes.CDLL(None).pthread_join(identity, None)


# Other processes


@forbidden
def find_parent():
    os.getppid() or os.abort()
    if sys.stdin is None and os.getppid() == -1:
        raise OSError


@forbidden
def signal_itself():
    os.kill(os.getpid(), 0)


@forbidden
def signal_parent():
    os.kill(os.getppid() if os.getppid() > 0 else 1, 0)


@forbidden
def signal_group():
    os.killpg(os.getpgid(0), 0)


@forbidden
def queue_signal():
    libc("sigqueue", os.getpid(), 0, None)


@forbidden
def set_alarm():
    signal.setitimer(signal.ITIMER_REAL, 1000)
    signal.setitimer(signal.ITIMER_REAL, 0)


@forbidden
def be_traced():
    libc("ptrace", 0, 0, 0, 0)


@forbidden
def read_memory_of_itself():
    class Vector(ctypes.Structure):
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    source, target = ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)
    vectors = [Vector(ctypes.addressof(each), 8) for each in (target, source)]
    libc("process_vm_readv", os.getpid(), *(x for v in vectors for x in (ctypes.byref(v), 1)), 0)


@forbidden
def open_process():
    os.close(os.pidfd_open(os.getpid()))


@forbidden
def process_priority():
    os.getpriority(os.PRIO_PROCESS, 0)


@forbidden
def pin_to_processor():
    os.sched_setaffinity(0, os.sched_getaffinity(0))


# Shared memory


@forbidden
def share_memory():
    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=8)
    memory.close()
    memory.unlink()


@forbidden
def share_memory_by_key():
    libc("shmctl", libc("shmget", 0, 8, 0o1600), 0, None)


@forbidden
def share_semaphore():
    multiprocessing.get_context("fork").Semaphore()


@forbidden
def share_semaphore_by_key():
    libc("semctl", libc("semget", 0, 1, 0o1600), 0, 0)


@forbidden
def map_file():
    with open("/etc/passwd", "rb") as file:
        mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)


# Rights, limits and executable memory


@forbidden
def raise_limit():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft - 1, 1), hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@forbidden
def set_user():
    os.setuid(os.getuid())


@forbidden
def user_id():
    libc("prctl", 3, 0, 0, 0, 0)


@forbidden
def new_namespace():
    libc("unshare", 0x04000000)


@forbidden
def system_name():
    os.uname()


@forbidden
def random_numbers():
    os.urandom(8)


@forbidden
def sleep():
    time.sleep(0.001)


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
    for _ in range(2000):
        print("labels" * 1000)
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
