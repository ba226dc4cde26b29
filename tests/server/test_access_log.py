"""Access log and request ids of the web server."""

import logging
import re

import pytest

HEAD = b"GET /secret-token HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


def events(caplog):
    return [each for each in caplog.records if each.name == "webapp.access"]


def test_each_request_is_logged_with_status_duration_and_bytes_but_without_its_path(running, caplog):
    with caplog.at_level(logging.INFO, "webapp"):
        answer = running.ask(HEAD + b"\r\n")
        running.ask(b"nonsense\r\n\r\n")
        running.ask(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\nExpect: 100-continue\r\n\r\n")
    found = [(each.method, each.status) for each in events(caplog)]
    assert found == [("GET", 200), ("-", 400), ("POST", 401)]
    assert events(caplog)[0].bytes == len(answer)
    assert all(each.duration_ms >= 0 for each in events(caplog))
    assert "secret-token" not in caplog.text and "secret-token" not in str([vars(e) for e in events(caplog)])


@pytest.mark.parametrize(
    ("proxies", "sent", "is_kept"),
    [
        (0, b"abc-1", False),
        (1, b"abc-1", True),
        (1, b"two words", False),
        (1, b"a\x0b2030 forged", False),
        (1, b"x" * 65, False),
        (1, b"", False),
    ],
)
def test_only_a_trusted_proxy_can_choose_a_well_formed_request_id(make_running, proxies, sent, is_kept):
    answer = make_running(trusted_proxies=proxies).ask(HEAD + b"X-Request-ID: " + sent + b"\r\n\r\n")
    (returned,) = re.findall(rb"X-Request-Id: (\S+)\r\n", answer)
    assert returned == sent if is_kept else re.fullmatch(rb"[0-9a-f]{16}", returned)


def test_an_exception_of_the_application_is_logged_without_the_path(running, caplog, monkeypatch):
    def broken(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(type(running.application), "__call__", broken)
    answer = running.ask(HEAD + b"\r\n")
    assert b" 500 " in answer
    assert "broken" in caplog.text and "secret-token" not in caplog.text
