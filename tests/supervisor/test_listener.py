import socket

from grader.supervisor.service import address_of, open_listener
from tests.fixtures.refusals import refused


def test_port_0_selects_a_free_port_and_the_address_contains_it():
    with open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        assert port > 0
        assert address_of(listener) == f"http://127.0.0.1:{port}"


def test_listener_on_all_addresses_is_reachable_on_this_machine():
    with open_listener("0.0.0.0", 0) as listener:
        assert address_of(listener).startswith("http://127.0.0.1:")


def test_error_on_a_port_in_use_names_the_option():
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        refused("cannot_listen", match=r"in use.*--port"),
    ):
        open_listener("127.0.0.1", other.getsockname()[1])


def test_host_of_another_machine_is_rejected_with_a_reason():
    with refused("cannot_listen", match=r"cannot listen on 192\.0\.2\.1, port 7777"):
        open_listener("192.0.2.1", 7777)
