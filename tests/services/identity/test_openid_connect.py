"""OpenID Connect client: providers that hang, are slow or send too much."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest

from grader.identity_providers import Attempt, Provider
from grader.services.identity import openid_connect
from grader.services.identity.openid_connect import OpenIDConnect, ProviderDown

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
ATTEMPT = Attempt("state", "nonce", "v" * 64)


@contextmanager
def provider_that(answers: Callable[[socket.socket, threading.Event], None]) -> Iterator[OpenIDConnect]:
    """Run a server that accepts connections; `answers` handles one until the event is set."""
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        answers(connection, is_over)

        thread = threading.Thread(target=serve)
        thread.start()
        issuer = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield OpenIDConnect(Provider(slug="campus", label="Campus", issuer=issuer, client_id="f"))
        finally:
            is_over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def hang(_: socket.socket, is_over: threading.Event):
    is_over.wait()


def drip(connection: socket.socket, is_over: threading.Event):
    connection.sendall(HEAD)
    while not is_over.wait(0.01):
        connection.sendall(b" ")


def flood(connection: socket.socket, is_over: threading.Event):
    connection.sendall(HEAD)
    while not is_over.is_set():
        connection.sendall(b" " * 65_536)


@pytest.mark.parametrize(
    ("answers", "reason"), [(hang, "ReadTimeout"), (drip, "is slow"), (flood, "more than 1,000,000 bytes")]
)
def test_a_provider_cannot_hold_a_request(
    monkeypatch: pytest.MonkeyPatch, answers: Callable[[socket.socket, threading.Event], None], reason: str
):
    monkeypatch.setattr(openid_connect, "TIMEOUT", httpx.Timeout(0.5))
    monkeypatch.setattr(openid_connect, "MOST_SECONDS", 30.0 if answers is flood else 0.5)
    with provider_that(answers) as client:
        with pytest.raises(ProviderDown) as caught:
            client.authorization_url(ATTEMPT, redirect_uri="http://localhost/")
        assert reason in caught.value.reason
        with pytest.raises(ProviderDown) as caught:
            client.authorization_url(ATTEMPT, redirect_uri="http://localhost/")
        assert caught.value.reason == "the last request failed"
