"""`grader.client` during failures: lost connections, rejections, limits, busy servers."""

import hashlib
import socket
import tracemalloc
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from sqlalchemy import select

from grader import db
from grader.client import (
    Client,
    NotScoredInTime,
    Refused,
    TokenRefused,
    Unreachable,
    Unusable,
)
from grader.client.files import download
from grader.client.transport import site_address
from grader.models import Submission
from grader.services.identity import api_tokens

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def naps(monkeypatch):
    """The client's pauses, which are recorded without sleeping."""
    made: list[float] = []
    monkeypatch.setattr("grader.client.transport.time", SimpleNamespace(sleep=made.append))
    return made


def count(service):
    with service.database.read() as session:
        return len(session.scalars(select(Submission.id)).all())


def answer(start, status, body=b"{}", **headers):
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    start(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body))), *named])
    return [body]


def after(many, instead):
    """Return an application that responds to `many` requests itself and passes on the others."""
    left = [many]

    def around(site, environ, start):
        left[0] -= 1
        return instead(site, environ, start) if left[0] >= 0 else site(environ, start)

    return around


def lost(site, environ, start):
    """Handle the request, but close the connection before the complete response is sent."""
    list(site(environ, lambda *_: None))
    start("201 Created", [("Content-Type", "application/json"), ("Content-Length", "500")])
    return [b'{"id":']


def busy(_site, _environ, start):
    return answer(
        start, "503 Service Unavailable", b'{"error": "busy", "message": "Later."}', Retry_After="3"
    )


def test_upload_with_a_lost_response_is_retried_and_creates_one_submission(
    service, live_site, predictions_csv, naps
):
    service.competition()
    live_site.around = after(1, lost)
    with live_site.client(competition="toxicity") as client:
        sent = client.submit(pd.read_csv(BytesIO(predictions_csv())))
    assert (sent.id, count(service), naps) == (1, 1, [0.25])
    assert live_site.requests == ["POST /api/v1/competitions/toxicity/submissions"] * 2


def test_large_file_is_sent_in_chunks_and_never_held_in_memory(live_site, tmp_path):
    path, size = tmp_path / "large.csv", 40_000_000
    with path.open("wb") as file:
        file.truncate(size)
    arrived = []

    def swallow(_site, environ, start):
        left = int(environ["CONTENT_LENGTH"])
        arrived.append(left)
        while left:
            left -= len(environ["wsgi.input"].read(min(left, 65_536)))
        return answer(start, "201 Created", b'{"id": 1, "status": "pending"}')

    live_site.around = swallow
    with live_site.client(competition="c") as client:
        tracemalloc.start()
        try:
            client.submit(path)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert arrived[0] > size
    assert peak < size / 2


def test_busy_server_is_asked_again_after_the_requested_time_until_the_patience_ends(
    service, live_site, naps
):
    service.competition()
    live_site.around = after(4, busy)
    with live_site.client(patience_seconds=8) as client:
        with pytest.raises(Refused) as failed:
            client.competitions()
        assert (failed.value.name, failed.value.retry_after) == ("busy", timedelta(seconds=3))
        assert client.competition().slug == "toxicity"
    assert naps == [3, 3, 3]


def test_missing_server_is_unreachable_and_a_wrong_token_is_not_retried(
    service, live_site, predictions_csv, naps
):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", "fb_x") as client, pytest.raises(Unreachable):
        client.competitions()
    assert naps == [0.25, 1, 2, 4]
    naps.clear()
    for token in ("fb_unknown", None):
        with Client(live_site.address, token) as client, pytest.raises(TokenRefused) as refused:
            client.competitions()
        assert (refused.value.status, refused.value.name, naps) == (401, "unauthorized", [])


def test_the_competition_is_that_of_the_token_or_the_only_one(service, live_site):
    service.competition("first")
    second = service.competition("second")
    with (
        live_site.client() as client,
        pytest.raises(Unusable, match="Specify the competition: second, first"),
    ):
        client.team()
    with service.database.write() as session:
        given = {"name": "one", "competition": session.merge(second), "now": db.now(session)}
        token = api_tokens.create(session, user=service.user(), **given)[1]
    with Client(live_site.address, token) as client:
        assert client.team().entry == "outside"
        with pytest.raises(Refused) as refused:
            client.team("first")
        assert refused.value.status == 403
        with pytest.raises(FileNotFoundError):
            client.submit("/nowhere/at-all.csv")


def test_timeout_while_waiting_names_the_submission(service, live_site, predictions_csv):
    service.competition()
    live_site.is_scoring = False
    with live_site.client(competition="toxicity") as client:
        sent = client.submit(pd.read_csv(BytesIO(predictions_csv())))
        with pytest.raises(NotScoredInTime, match="#1 is not scored yet") as late:
            client.wait(sent, timeout_seconds=0.3)
    assert late.value.submission.status == "pending"


def test_interrupted_download_resumes(live_site, tmp_path, naps, database_url):
    content = bytes(range(256)) * 4000
    tag = f'"{hashlib.sha256(content).hexdigest()}"'
    asked: list[str | None] = []

    def serve(_site, environ, start):
        asked.append(environ.get("HTTP_RANGE"))
        if environ.get("HTTP_IF_NONE_MATCH") == tag:
            start("304 Not Modified", [("ETag", tag)])
            return []
        begin = int((asked[-1] or "bytes=0-")[6:-1])
        rest = content[begin:]
        head = [("Content-Length", str(len(rest))), ("ETag", tag)]
        start("206 Partial Content" if begin else "200 OK", head)
        return [rest[:300_000]]

    live_site.around = serve
    with live_site.client() as client:
        path = download(client, "anything", tmp_path / "train.csv")
        assert path.read_bytes() == content
        assert asked == [None, "bytes=300000-", "bytes=600000-", "bytes=900000-"]
        assert download(client, "anything", path) == path
        assert len(asked) == 5
    assert [each.name for each in tmp_path.glob("train*")] == ["train.csv"]


def test_download_with_a_wrong_checksum_is_deleted(live_site, tmp_path, database_url):
    tag = hashlib.sha256(b"the file").hexdigest()
    for status in ("200 OK", "416 Range Not Satisfiable"):
        (tmp_path / "train.csv.part").write_bytes(b"more than the file")
        live_site.around = lambda _site, _environ, start, status=status: answer(
            start, status, b"a file", ETag=f'"{tag}"'
        )
        with live_site.client() as client, pytest.raises(Unusable, match="Download it again"):
            download(client, "anything", tmp_path / "train.csv")
        assert list(tmp_path.glob("train*")) == []


def data_file(content):
    """Return a site with one data file."""
    tag = f'"{hashlib.sha256(content).hexdigest()}"'

    def serve(_site, environ, start):
        is_known = environ.get("HTTP_IF_NONE_MATCH") == tag
        start("304 Not Modified" if is_known else "200 OK", [("ETag", tag)])
        return [] if is_known else [content]

    return serve


def test_download_replaces_a_different_file_only_on_request(live_site, tmp_path, monkeypatch, database_url):
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "demo/train.py"
    own.parent.mkdir()
    own.write_text("mine")
    (own.parent / "other.csv").symlink_to(tmp_path / "outside.csv")
    live_site.around = data_file(b"theirs")
    with live_site.client(competition="demo") as client:
        for name in ("train.py", "other.csv"):
            with pytest.raises(Unusable, match=f"{name} differs from the file on the server"):
                client.download(name)
        assert own.read_text() == "mine"
        (own.parent / "train.csv.part").write_bytes(b"an old part, which this site does not continue")
        assert client.download("train.csv") == Path("demo/train.csv")
        assert client.download("train.csv").read_bytes() == b"theirs"
        assert client.download("train.py", replace=True).read_bytes() == b"theirs"
        assert client.download("a.csv", tmp_path / "new/folder").read_bytes() == b"theirs"
    assert not (tmp_path / "outside.csv").exists()
    assert not list(tmp_path.rglob("*.part*"))


def test_download_does_not_follow_links(live_site, tmp_path, database_url):
    live_site.around = data_file(b"theirs")
    (tmp_path / "a.csv.part").symlink_to(tmp_path / "victim")
    with live_site.client(competition="demo") as client, pytest.raises(Unusable):
        client.download("a.csv", tmp_path)
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "", ".bashrc", "a\nb", "a\x1b[2J"])
def test_file_name_never_leaves_the_folder(name, tmp_path, database_url):
    with Client("http://127.0.0.1:9", "fb_x", competition="c") as client, pytest.raises(Unusable):
        client.download(name, tmp_path)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [(b"<html>", {}, "200 OK"), (b"[]", {}, "200 OK"), (b"", {"Location": "https://x"}, "301 Moved")],
)
def test_other_site_is_reported(live_site, body, headers, status):
    live_site.around = lambda _site, _environ, start: answer(start, status, body, **headers)
    with (
        live_site.client() as client,
        pytest.raises((Unusable, Refused), match=r"Fairboard site|has moved to https"),
    ):
        client.competitions()


@pytest.mark.parametrize(
    "text", ["", "board", "ftp://x", "http://", "https://a:b@c", "http://x:y", "http://xn--a", "http://a..b"]
)
def test_invalid_site_address_is_rejected(text, database_url):
    with pytest.raises(Unusable):
        site_address(text)
    assert site_address("http://[::1]:81/fair?#top") == "http://[::1]:81/fair/"
