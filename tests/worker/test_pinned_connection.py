"""Webhook requests: only validated addresses, one attempt, time limit."""

import socket
import ssl
import threading
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from grader.worker.pinned_connection import NoAnswer, post
from tests.fixtures.patience import HANG_SECONDS
from tests.fixtures.receivers import Receiver
from tests.fixtures.smtp import self_signed

LOOPBACK = (ip_network("127.0.0.0/8"),)


def send(url: str, **options) -> int:
    usual = {"body": b"{}", "headers": {"X": "1"}, "networks": LOOPBACK, "seconds": HANG_SECONDS}
    return post(url, **usual | options)


def to(*addresses: str):
    return lambda _host, _port: addresses


def test_body_and_headers_arrive_and_the_status_is_returned(receiver: Receiver):
    receiver.answers = [202]
    assert send(receiver.url, body=b"hello") == 202
    (came,) = receiver.received
    assert (came.path, came.body, came.headers["X"]) == ("/hook", b"hello", "1")


def test_private_address_is_rejected_unless_the_operator_allows_it(receiver: Receiver):
    with pytest.raises(NoAnswer):
        send(receiver.url, networks=())
    with pytest.raises(NoAnswer):
        send(f"http://board.example:{receiver.port}/", networks=(), resolve=to("127.0.0.1"))
    assert receiver.received == []


def test_name_with_any_private_address_is_rejected(receiver: Receiver):
    with pytest.raises(NoAnswer):
        send(f"http://board.example:{receiver.port}/", resolve=to("127.0.0.1", "10.0.0.1"))
    assert receiver.received == []


def test_name_is_resolved_once_to_prevent_dns_rebinding(receiver: Receiver):
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    asked = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return answers.pop(0)

    assert send(f"http://board.example:{receiver.port}/x", resolve=rebinding) == 200
    assert asked == [("board.example", receiver.port)]
    assert receiver.received[0].headers["Host"] == f"board.example:{receiver.port}"


@pytest.mark.parametrize("address", ["::ffff:127.0.0.1", "64:ff9b::7f00:1", "fe80::1%lo", "::1", "not one"])
def test_other_notations_of_an_address_are_rejected(receiver: Receiver, address: str):
    with pytest.raises(NoAnswer):
        send(f"http://board.example:{receiver.port}/", resolve=to(address))
    assert receiver.received == []


def test_next_address_is_tried_if_one_refuses_the_connection(receiver: Receiver):
    assert send(f"http://board.example:{receiver.port}/", resolve=to("127.0.0.9", "127.0.0.1")) == 200


def test_redirect_is_not_followed(receiver: Receiver):
    receiver.answers, receiver.headers = [302], {"Location": receiver.url}
    assert send(receiver.url) == 302
    assert len(receiver.received) == 1


@pytest.mark.parametrize("path", ["", "?" + "x" * 200])
def test_silent_receiver_times_out(receiver: Receiver, path: str):
    receiver.is_silent = True
    with pytest.raises(NoAnswer):
        send(receiver.url + path, seconds=0.2)


def test_silent_name_servers_time_out():
    released = threading.Event()

    def silent(_host: str, _port: int) -> list[str]:
        released.wait()
        return []

    with pytest.raises(NoAnswer):
        send("http://board.example/", resolve=silent, seconds=0.2)
    released.set()


def test_unknown_name_has_no_response():
    with pytest.raises(NoAnswer):
        send("http://nowhere.invalid/")


def dripping(answers: bytes) -> Iterator[int]:
    """Serve an endless response one byte at a time; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.recv(65536)
                while not stop.is_set():
                    for byte in answers:
                        try:
                            connection.sendall(bytes([byte]))
                        except OSError:
                            return
                        if stop.wait(0.01):
                            return

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 103 Early\r\n\r\n", b"X", b"HTTP/1.1 200 OK\r\nA: b\r\n" + b"c" * 999]
)
def test_time_limit_covers_the_whole_slow_response(answer: bytes):
    for port in dripping(answer):
        with pytest.raises(NoAnswer):
            send(f"http://127.0.0.1:{port}/", seconds=0.3)


def test_endless_body_is_not_read():
    for port in dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n" + b"x" * 9999):
        assert send(f"http://127.0.0.1:{port}/") == 200


@pytest.fixture
def encrypting(tmp_path: Path) -> Iterator[tuple[int, Path, list[str | None]]]:
    """A TLS server with a certificate for 127.0.0.1, and the host names that clients requested."""
    certificate, key = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    asked: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked.append(name)
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()

        def serve():
            while not stop.is_set():
                connection, _ = server.accept()
                with connection:
                    try:
                        with context.wrap_socket(connection, server_side=True) as stream:
                            got = b""
                            # Closing the socket with unread data would truncate the response.
                            while not got.endswith(b"{}") and (piece := stream.recv(65536)):
                                got += piece
                            stream.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
                    except OSError:
                        continue

        thread = threading.Thread(target=serve)
        thread.start()
        port = server.getsockname()[1]
        yield port, certificate, asked
        stop.set()
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join()


def test_tls_requests_the_urls_name_and_verifies_the_certificate(
    encrypting: tuple[int, Path, list[str | None]], monkeypatch: pytest.MonkeyPatch
):
    port, certificate, asked = encrypting
    with pytest.raises(NoAnswer):  # The certificate is not trusted.
        send(f"https://127.0.0.1:{port}/")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert send(f"https://127.0.0.1:{port}/") == 204
    with pytest.raises(NoAnswer):  # The certificate is for another name.
        send(f"https://board.example:{port}/", resolve=to("127.0.0.1"))
    assert asked[-1] == "board.example"
