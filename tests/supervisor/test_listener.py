"""The listening socket of `fairboard serve`."""

import socket

from grader.supervisor.service import open_listener
from tests.fixtures.refusals import refused


def test_port_0_selects_a_free_port():
    with open_listener("127.0.0.1", 0) as listener, open_listener("::1", 0) as other:
        assert listener.getsockname()[1] > 0 < other.getsockname()[1]


def test_unusable_address_is_rejected_with_a_reason_and_the_options():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        reasons = {"127.0.0.1": "in use.*--port", "192.0.2.1": f"port {port}", "..": "invalid host name"}
        for host, reason in reasons.items():
            with refused("cannot_listen", match=reason):
                open_listener(host, port)
