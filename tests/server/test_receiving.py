"""Request reception: completeness, timeouts, declared length."""

import time

import pytest

from tests.fixtures.front_server import everything
from tests.fixtures.patience import eventually

GET = b"GET /a HTTP/1.1\r\nHost: localhost\r\n"
END = b"Connection: close\r\n\r\n"
# Most tests allow a long silence, because a client on a busy machine may send its first bytes late.
QUICK = {"head_seconds": 0.3, "grace_seconds": 0.3}
IDLE = {"idle_seconds": 0.3}


def post(path, *headers, close=True):
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: localhost", *headers]
    return b"\r\n".join([*lines, *([b"Connection: close"] if close else []), b"", b""])


def test_absolute_url_as_sent_to_a_proxy_is_accepted(running):
    answer = running.ask(
        b"POST http://localhost/api/v1/x.S/M?a=1 HTTP/1.1\r\nHost: other\r\nContent-Length: 2\r\n"
        + END
        + b"{}"
    )
    assert answer.startswith(b"HTTP/1.1 200 OK") and answer.endswith(b"POST /api/v1/x.S/M localhost 2 of 2")


def test_chunked_put_is_received_even_if_empty(running):
    head = b"PUT /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + END
    assert running.ask(head + b"0\r\n\r\n").endswith(b"PUT /upload localhost 0 of 0")
    assert running.ask(head + b"3\r\nabc\r\n2;a=b\r\nde\r\n0\r\n\r\n").endswith(
        b"PUT /upload localhost 5 of 5"
    )


def test_connection_is_kept_alive_and_pipelined_requests_are_answered_in_order(running):
    sent = (
        GET
        + b"\r\n"
        + post(b"/b", b"Content-Length: 3", close=False)
        + b"abc"
        + GET.replace(b"/a", b"/c")
        + END
    )
    answer = running.ask(sent)
    assert [answer.index(each) for each in (b"GET /a", b"POST /b localhost 3", b"GET /c")] == sorted(
        answer.index(each) for each in (b"GET /a", b"POST /b localhost 3", b"GET /c")
    )
    assert running.application.asked == ["/a", "/b", "/c"]


@pytest.mark.parametrize(
    "head",
    [
        post(b"/a", b"Content-Length: 5", b"Transfer-Encoding: chunked")
        + b"0\r\n\r\nGET /hidden HTTP/1.1\r\n\r\n",
        post(b"/a", b"Content-Length: 5", b"Content-Length: 0") + b"abcde",
        post(b"/a", b"Content-Length: +5") + b"abcde",
        post(b"/a", b"Content-Length: 5_0") + b"abcde",
        post(b"/a", b"Transfer-Encoding: chunked, identity"),
        post(b"/a", b"Transfer-Encoding: chunked, chunked") + b"0\r\n\r\n",
        post(b"/a", b"Transfer-Encoding: chunked", b"Transfer-Encoding: CHUNKED") + b"0\r\n\r\n",
        post(b"/a", b"Transfer-Encoding: chunked", b" , chunked") + b"0\r\n\r\n",
        post(b"/a", b"Transfer-Encoding: chunked,") + b"0\r\n\r\n",
        post(b"/a", b"Transfer-Encoding: \x0bchunked"),
        post(b"/a", b"Transfer-Encoding : chunked"),
        post(b"/a", b"Transfer-Encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0"),
        post(b"/a", b"Content-Length: 5").replace(b"Host: localhost", b"Host: a\r\nHost: b"),
        post(b"/a").replace(b"Host: localhost\r\n", b""),
        post(b"http://["),
        b"GET /a HTTP/1.1\nHost: localhost\n\n\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    ],
)
def test_ambiguous_request_is_rejected_and_closes_the_connection(running, head):
    answer = running.ask(head)
    status = answer.split(b" ", 2)[1]
    assert status in (b"400", b"501"), answer
    assert answer.count(b"HTTP/1.1") + answer.count(b"HTTP/1.0") == 1
    assert running.application.asked == []


def test_chunks_with_more_headers_than_data_are_rejected(running):
    head = post(b"/upload", b"Transfer-Encoding: chunked")
    for body in (
        b"1;" + b"a" * 10_000,
        b"0\r\n" + b"A: b\r\n" * 3_000,
        b"zz\r\n",
        b"1;=\r\n",
        b"2\r\nabc\r\n0\r\n\r\n",
        b"1\r\nx\r\n" * 5_000,
    ):
        assert running.ask(head + body).startswith(b"HTTP/1.1 400")
    assert running.application.asked == []
    # A client may send each line of a file as a chunk.
    lines = b"".join(b"b\r\n%07d,0.5\r\n" % number for number in range(20_000))
    answer = running.ask(head + lines + b"0\r\n\r\n")
    assert answer.endswith(b"220000 of 220000")


def test_oversized_head_is_rejected(running):
    assert running.ask(GET + b"X: " + b"x" * 40_000).startswith(b"HTTP/1.0 431")


def test_small_body_is_received_completely_before_the_application_runs(running):
    with running.connect(post(b"/form", b"Content-Length: 6") + b"abc") as client:
        time.sleep(0.2)
        assert running.application.asked == running.application.heads == []
        client.sendall(b"def")
        assert everything(client).endswith(b"POST /form localhost 6 of 6")


def test_unfinished_large_form_is_held_only_with_the_approval_of_the_application(running):
    with running.connect(post(b"/form", b"Content-Length: 200000", close=False) + b"x" * 9_000):
        eventually(lambda: running.application.heads == ["/form"])


def test_application_decides_on_a_large_body_and_its_limit_is_enforced(running):
    for size in (999_999, 1_000_000):
        body = b"x" * size
        answer = running.ask(post(b"/upload", b"Content-Length: %d" % size) + body)
        assert answer.endswith(b"POST /upload localhost %d of %d" % (size, size))
    size = 1_000_001
    answer = running.ask(post(b"/upload", b"Content-Length: %d" % size) + b"x" * size)
    assert answer.startswith(b"HTTP/1.1 401")
    frames = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    chunked = b"Transfer-Encoding: chunked"
    for path, status in ((b"/upload", b"413"), (b"/elsewhere", b"401")):
        sent = post(path, chunked, close=False) + frames * 60 + b"0\r\n\r\n" + GET + END
        answer = running.ask(sent)
        assert answer.startswith(b"HTTP/1.1 " + status) and b"\nHTTP/1.1 200 OK" in answer
    assert running.application.heads == [*["/upload"] * 4, "/elsewhere"]
    assert running.application.asked == [*["/upload"] * 2, *["/a"] * 2]


def test_unwanted_large_body_is_discarded_and_its_sender_receives_the_reason(running):
    sent = post(b"/elsewhere", b"Content-Length: 3000000", close=False) + b"x" * 3_000_000 + GET + END
    answer = running.ask(sent)
    assert answer.startswith(b"HTTP/1.1 401 Unauthorized") and b"\r\n\r\nno\nHTTP/1.1 200 OK" in answer
    assert (running.application.heads, running.application.asked) == (["/elsewhere"], ["/a"])


def test_expect_100_continue_is_answered_with_continue_or_a_rejection(running):
    wait = (b"Expect: 100-continue", b"Content-Length: 500000")
    with running.connect(post(b"/upload", *wait)) as client:
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"x" * 500_000)
        assert everything(client).endswith(b"500000 of 500000")
    assert running.ask(post(b"/elsewhere", *wait, close=False)).endswith(b"\r\n\r\nno\n")
    with running.connect(post(b"/form", b"Expect: 100-continue", b"Content-Length: 2")) as client:
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"ab")
        assert everything(client).endswith(b"POST /form localhost 2 of 2")


def test_silent_incomplete_and_stalled_requests_time_out(make_running):
    running = make_running(**QUICK)
    for sent in (
        GET,
        post(b"/form", b"Content-Length: 100") + b"x",
        post(b"/upload", b"Content-Length: 500000") + b"x",
    ):
        with running.connect(sent) as client:
            assert _has_ended(client)
    assert running.application.asked == []
    running.bound(**IDLE)
    assert running.ask(b"") == b""
    assert running.ask(GET + b"\r\n").startswith(b"HTTP/1.1 200 OK")  # kept alive and then silent


def test_occasional_bytes_keep_no_head_or_body_alive(make_running):
    running = make_running(**QUICK, slowest_bytes_per_second=1_000)
    for beginning in (GET + b"X: ", post(b"/form", b"Content-Length: 1000")):
        with running.connect(beginning) as client:
            client.settimeout(0.1)
            eventually(lambda client=client: _is_closed_after_a_byte(client))


def _is_closed_after_a_byte(client):
    try:
        client.sendall(b"x")
        return client.recv(1_000) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True  # The server did not read the last bytes.


def test_slow_but_steady_body_is_received(make_running):
    running = make_running(grace_seconds=0.3, slowest_bytes_per_second=100)
    size, share = 400_000, 20_000  # Each share of the body extends the deadline by 200 s.
    with running.connect(post(b"/upload", b"Content-Length: %d" % size) + b"x" * share) as client:
        for _ in range(size // share - 1):  # This takes 2 s in total: six times the grace period.
            time.sleep(0.1)
            client.sendall(b"x" * share)
        assert everything(client).endswith(b"400000 of 400000")


def test_request_in_progress_has_no_deadline(make_running):
    running = make_running()
    running.application.may_answer.clear()
    with running.connect(GET + END) as client:
        eventually(lambda: running.application.asked)
        running.bound(**QUICK, **IDLE)
        time.sleep(1.2)
        running.application.may_answer.set()
        assert everything(client).endswith(b"GET /a localhost 0 of none")


def test_many_simultaneous_logins_block_no_threads_for_pages_and_uploads(running):
    running.application.may_hash.clear()
    sent = post(b"/login", b"Content-Length: 0")
    waiting = [running.connect(sent, address=f"127.0.0.{n // 10 + 1}") for n in range(30)]
    eventually(
        lambda: running.application.asked.count("/login") == 30
        # All requests arrive before the first response is sent.
    )
    assert running.ask(GET + END).startswith(b"HTTP/1.1 200 OK")  # The server has two threads.
    running.application.may_hash.set()
    for client in waiting:
        with client:
            assert everything(client).startswith(b"HTTP/1.1 200 OK")


def test_client_that_does_not_read_holds_no_thread_and_is_disconnected(running):
    readers = [running.connect(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(4)]
    eventually(lambda: len(running.application.asked) == 4)  # The server has two threads.
    assert running.ask(GET + END).startswith(b"HTTP/1.1 200 OK")
    assert len(running.server.channels) >= 4
    running.bound(grace_seconds=0.3, slowest_bytes_per_second=1 << 30)
    eventually(lambda: not running.server.channels)
    for reader in readers:
        reader.close()


def test_waiting_connections_beyond_the_limit_of_an_address_are_closed(running):
    running.application.may_answer.clear()
    with running.connect(GET + END, address="127.0.1.1") as working:
        eventually(lambda: running.application.asked)
        with running.connect(address="127.0.1.2") as other:
            crowd = [running.connect(GET, address="127.0.1.1") for _ in range(25)]
            eventually(lambda: len(_of(running, "127.0.1.1")) == 20)
            assert _has_ended(crowd[-1])
            crowd[0].sendall(END)
            running.application.may_answer.set()
            for each in (crowd[0], working):
                assert everything(each).startswith(b"HTTP/1.1 200 OK")
            other.sendall(GET + END)
            assert everything(other).startswith(b"HTTP/1.1 200 OK")
    for each in crowd:
        each.close()


def test_clients_behind_a_trusted_proxy_are_counted_by_their_own_address(make_running):
    running = make_running(trusted_proxies=1, connections_per_address=5)
    named = GET.replace(b"/a", b"/form").replace(b"GET", b"POST") + b"Content-Length: 5\r\nX-Forwarded-For: "
    many = [running.connect(named + b"10.0.0.%d\r\n\r\n" % number) for number in range(10)]
    # An IPv6 customer has a /64 network.
    one = [running.connect(named + b"1.2.3.4, [2001:db8::%d]:9\r\n\r\n" % number) for number in range(8)]
    eventually(lambda: len(running.server.channels) == 15)
    assert len(_of(running, "2001:db8::/64")) == 5
    for each in many:
        each.sendall(b"abcde")
        assert each.recv(100).startswith(b"HTTP/1.1 200 OK")
    for each in (*one, *many):
        each.close()


def _has_ended(client):
    try:
        return client.recv(1) == b""
    except ConnectionResetError:  # The server did not read all the bytes that were sent.
        return True


def _of(running, address):
    return [channel for channel in running.server.channels if channel.address == address]
