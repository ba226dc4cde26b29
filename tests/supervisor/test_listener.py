"""The listening socket of `fairboard serve`."""

import socket

from grader.supervisor.service import open_listener
from tests.fixtures.refusals import refused


def test_port_0_selects_a_free_port():
    with open_listener("127.0.0.1", 0) as listener, open_listener("::1", 0) as other:
        assert listener.getsockname()[1] > 0 < other.getsockname()[1]


def test_error_on_a_port_in_use_names_the_option():
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        refused("cannot_listen", match=r"in use.*--port"),
    ):
        open_listener("127.0.0.1", other.getsockname()[1])


def test_host_of_another_machine_is_rejected_with_a_reason():
    with refused("cannot_listen", match=r"cannot listen on 192\.0\.2\.1, port 7777"):
        open_listener("192.0.2.1", 7777)
