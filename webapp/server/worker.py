"""Gunicorn worker class: `gunicorn --worker-class webapp.server.worker.Worker`."""

import logging
import os
import resource
import tempfile
import time
from pathlib import Path

from gunicorn.workers.base import Worker as GunicornWorker

from grader.settings import load
from grader.worker.processes import end_with
from webapp.server.connections import Bounds
from webapp.server.server import Server

FOLDER = "receiving"
MOST_OPEN_FILES = 65_536
FILES_FOR_EACH = 4  # the connection, its body and its response, and a share of the database and the blobs

log = logging.getLogger(__name__)


class Worker(GunicornWorker):  # type: ignore[misc]
    """A worker with one receiving loop, request threads and graceful shutdown."""

    def run(self) -> None:
        """Serve requests until gunicorn stops this worker or has exited."""
        end_with(self.ppid)
        settings = load()
        self._receive_into(settings.data_dir)
        (listener,) = self.sockets
        listener.sock.setblocking(False)
        server = Server(
            self.wsgi,
            listener.sock,
            threads=self.cfg.threads,
            bounds=self._bounds(),
            trusted_proxies=settings.trusted_proxies,
        )
        while self.alive and os.getppid() == self.ppid:
            self.notify()
            server.look()
        self._finish(server)

    def _finish(self, server: Server) -> None:
        server.accepting = False
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while server.channels and time.monotonic() < deadline:
            server.close_unused()
            self.notify()
            server.look()

    def _bounds(self) -> Bounds:
        """Raise this process's limit on open files, and return the connection limits that it permits."""
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        open_files = MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, hard))
        connections = min(Bounds().connections, open_files // FILES_FOR_EACH)
        return Bounds(connections=connections, connections_per_address=connections // 4)

    def _receive_into(self, data_dir: Path) -> None:
        """Store incoming request bodies on the data disk, because /tmp may be in memory."""
        folder = data_dir.absolute() / FOLDER
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:  # A web process can run without the data folder.
            log.warning("Large request bodies are stored in %s: %s.", tempfile.gettempdir(), error)
            return
        tempfile.tempdir = str(folder)
