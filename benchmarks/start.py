"""Benchmark of startup: imports, first requests of commands, first response and idle memory of a service.

Run ``python benchmarks/start.py``, which takes about a minute. Each figure is the median of several runs,
with its ratio to ``python -c "import httpx, click"`` in the same run. All requests stay on this machine.
"""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

import psutil

RUNS = 11
STARTS = 3
HANG_SECONDS = 60
SETTLE_SECONDS = 12
PROGRAMS = ("gunicorn", "celery", "sweeper", "valkey-server", "serve")
REFUSED = b'{"error": "unauthorized", "message": "No."}'


class Refusing(BaseHTTPRequestHandler):
    """Rejects every token, and records the time of each request."""

    asked_at = 0.0

    def do_GET(self) -> None:
        type(self).asked_at = time.perf_counter()
        self.send_response(401)
        self.send_header("Content-Length", str(len(REFUSED)))
        self.end_headers()
        self.wfile.write(REFUSED)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Suppress the request log."""


def python(code: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - begin


def command(environment: dict[str, str], *words: str) -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "grader.cli", *words], env=environment, capture_output=True)
    return Refusing.asked_at - begin


def help_page() -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "grader.cli", "--help"], check=True, capture_output=True)
    return time.perf_counter() - begin


def service(memory: Counter[str] | None = None) -> float:
    """Start a service with an empty data folder, and return the time until `/readyz` answers 200.

    Add the proportional memory of its idle processes in MB to `memory`.
    """
    with tempfile.TemporaryDirectory(prefix="fb-") as folder, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        listener.close()
        environment = os.environ | {"FAIRBOARD_DATA_DIR": folder, "FAIRBOARD_PORT": str(port)}
        begin = time.perf_counter()
        quiet = subprocess.DEVNULL
        words = [sys.executable, "-m", "grader.cli", "serve"]
        with subprocess.Popen(words, env=environment, stdout=quiet, stderr=quiet) as process:
            try:
                while not ready(port):
                    if process.poll() is not None or time.perf_counter() > begin + HANG_SECONDS:
                        raise SystemExit("The service did not start.")
                    time.sleep(0.01)
                seconds = time.perf_counter() - begin
                if memory is not None:
                    time.sleep(SETTLE_SECONDS)
                    main = psutil.Process(process.pid)
                    for each in (main, *main.children(recursive=True)):
                        command = " ".join(each.cmdline())
                        name = next(name for name in PROGRAMS if name in command)
                        memory[name] += each.memory_full_info().pss / 1e6
                return seconds
            finally:
                process.send_signal(signal.SIGTERM)


def ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    return False


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    environment = os.environ | {"FAIRBOARD_SITE": address, "FAIRBOARD_TOKEN": "fb_x"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "predictions.csv"
        file.write_text("id,prediction\n1,0.5\n")
        measured: dict[str, Callable[[], float]] = {
            'python -c "import httpx, click"': lambda: python("import httpx, click"),
            "python -c pass": lambda: python("pass"),
            "import numpy": lambda: python("import numpy"),
            "import fairboard": lambda: python("import fairboard"),
            "fairboard --help": help_page,
            "fairboard submit: first request": lambda: command(environment, "submit", str(file), "-c", "x"),
            "fairboard leaderboard: first request": lambda: command(environment, "leaderboard", "-c", "x"),
        }
        times: dict[str, list[float]] = {name: [] for name in measured}
        for _ in range(RUNS):  # measured in turn, so that other load affects all commands
            for name, run in measured.items():
                times[name].append(run())
        times["fairboard serve: ready"] = [service() for _ in range(STARTS)]
    memory: Counter[str] = Counter()
    service(memory)
    (base, *_) = times.values()
    for name, seconds in times.items():
        print(f"{name:40} {1000 * median(seconds):6.0f} ms  {median(seconds) / median(base):5.2f}x")
    for name, megabytes in memory.items():
        print(f"{name:40} {megabytes:6.0f} MB")
    print(f"{'fairboard serve, idle':40} {sum(memory.values()):6.0f} MB")


if __name__ == "__main__":
    main()
