import socket

import pytest

from grader.supervisor.service import CannotListen, address_of, open_listener


def test_port_0_takes_a_free_port_and_the_address_names_it():
    with open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert address_of(listener) == f"http://127.0.0.1:{port}"


def test_a_listener_on_all_addresses_is_reached_on_this_machine():
    with open_listener("0.0.0.0", 0) as listener:
        assert address_of(listener).startswith("http://127.0.0.1:")


def test_a_taken_port_is_named_with_the_way_out():
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        pytest.raises(CannotListen, match=r"another program listens there.*--port"),
    ):
        open_listener("127.0.0.1", other.getsockname()[1])


def test_a_host_that_is_not_of_this_machine_is_refused_with_a_reason():
    with pytest.raises(CannotListen, match=r"cannot listen on 192\.0\.2\.1, port 7777"):
        open_listener("192.0.2.1", 7777)
