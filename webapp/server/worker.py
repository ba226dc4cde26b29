"""Gunicorn worker class: `gunicorn --worker-class webapp.server.worker.Worker`."""

import logging
import os
import tempfile
import time
from pathlib import Path
from typing import Any

from gunicorn.workers.base import Worker as GunicornWorker

from grader.settings import load
from grader.worker.process.limits import end_with
from webapp.server import connections
from webapp.server.server import Server

FOLDER = "receiving"

log = logging.getLogger(__name__)


class Worker(GunicornWorker):  # type: ignore[misc]
    """A worker with one receiving loop, request threads and graceful shutdown."""

    def run(self) -> None:
        """Serve requests until gunicorn stops this worker or has exited."""
        end_with(self.ppid)
        settings = load()
        self._receive_into(settings.data_dir)
        server = Server(
            self.wsgi,
            self._listener(),
            threads=self.cfg.threads,
            bounds=connections.of_this_process(),
            trusted_proxies=settings.trusted_proxies,
        )
        while self.alive and os.getppid() == self.ppid:
            self.notify()
            server.look()
        self._finish(server)

    def _finish(self, server: Server) -> None:
        server.stop_accepting()
        deadline = time.monotonic() + self.cfg.graceful_timeout
        while server.channels and time.monotonic() < deadline:
            self.notify()
            server.look()
            server.close_unused()

    def _listener(self) -> Any:
        (listener,) = self.sockets
        listener.sock.setblocking(False)
        return listener.sock

    def _receive_into(self, data_dir: Path) -> None:
        """Store incoming request bodies on the data disk, because /tmp may be in memory."""
        folder = data_dir.absolute() / FOLDER
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:  # A web process can run without the data folder.
            log.warning("Large request bodies are stored in %s: %s.", tempfile.gettempdir(), error)
            return
        tempfile.tempdir = str(folder)
