"""The listening socket of `fairboard serve`, opened first and kept open while web processes restart."""

import errno
import socket

from grader.errors import OrganizerError

BACKLOG = 512


class CannotListen(OrganizerError):
    """The address is taken, not ours, or not to be had."""

    public_name = "cannot_listen"
    message = "Fairboard cannot listen on {host}, port {port}: {reason}"


def open_listener(host: str, port: int) -> socket.socket:
    """Listen on the address, on a free port where the port is 0; raise CannotListen."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotListen(host=host, port=port, reason=_reason(error)) from error


def address_of(listener: socket.socket) -> str:
    """Return the URL under which a browser on this machine reaches the listener."""
    host, port = listener.getsockname()[:2]
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - recognised, not listened on
    return f"http://{everywhere.get(host, f'[{host}]' if ':' in host else host)}:{port}"


def _reason(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            "another program listens there. Stop it, or choose another port with --port (0 takes a free one)."
        )
    if error.errno == errno.EACCES:
        return "ports below 1024 need special rights. Choose another one with --port."
    return f"{error.strerror}."
