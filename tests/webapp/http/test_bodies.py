"""Large request bodies on disk: equal to bodies in memory, without a copy of their file."""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from tempfile import TemporaryFile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.test import create_environ

from webapp.http import bodies
from webapp.http.bodies import FairboardRequest, sha256_of

PIECES = st.sampled_from([b"--bound", b"--boundary", b"\r\n", b"\n", b"\r", b"-", b" ", b"x", b"y" * 100])
CONTENTS = st.lists(PIECES, max_size=12).map(b"".join)
LONG = st.lists(
    CONTENTS.map(lambda each: each.replace(b"--boundary", b"y" * 100)), min_size=4, max_size=8
).map(b"".join)
FIELD = st.tuples(st.just("text"), CONTENTS)
FILE = st.tuples(st.just("file"), LONG)
PARTS = (
    st.tuples(FILE)
    | st.tuples(FILE, FIELD)
    | st.tuples(FIELD, FILE, FIELD)
    | st.lists(FILE | FIELD, max_size=3)
)
TYPE = "multipart/form-data; boundary=boundary"
LARGE = b"1,0.5\n" * 100_000


def form(*parts: tuple[str, bytes]) -> bytes:
    """Return a form in which `text` is a field and every other name is a file."""
    body = b""
    for name, content in parts:
        file = "" if name == "text" else f'; filename="{name}.csv"'
        head = f'--boundary\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
        body += head.encode() + content + b"\r\n"
    return body + b"--boundary--\r\n"


@contextmanager
def received(body: bytes, *, on_disk: bool, content_type: str = TYPE) -> Iterator[FairboardRequest]:
    with TemporaryFile() if on_disk else io.BytesIO() as stream:
        stream.write(body)
        stream.seek(0)
        environ = create_environ(method="POST", input_stream=stream, content_type=content_type)
        environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input_terminated": True}
        with FairboardRequest(environ) as request:
            yield request


def content(request: FairboardRequest) -> object:
    files = [
        (name, file.filename, sha256_of(file), file.stream.read())
        for name, file in request.files.items(multi=True)
    ]
    assert all(digest == sha256(data).hexdigest() for _, _, digest, data in files)
    return sorted(request.form.items(multi=True)), files


@given(parts=PARTS, before=CONTENTS, after=CONTENTS, edge=st.integers(80, 200), length=st.integers(0, 900))
@example(parts=[("file", b"\r\n--boundary\r\n" * 40)], before=b"", after=b"", edge=100, length=400)
@example(parts=[("file", b"x" * 300)], before=b"", after=b"", edge=100, length=400)
@example(parts=[("text", b"x" * 300), ("file", b"")], before=b"", after=b"", edge=100, length=400)
@example(parts=[("file", b"x" * 300), ("test", b"x")], before=b"", after=b"", edge=100, length=400)
def test_a_form_on_disk_is_read_like_one_in_memory(
    parts: Sequence[tuple[str, bytes]], before: bytes, after: bytes, edge: int, length: int
):
    sent = before + form(*parts) + after
    for body in (sent, sent[:length]):  # also incomplete
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bodies, "EDGE_BYTES", edge)
            patch.setattr(bodies, "MARGIN_BYTES", 40)
            patch.setattr(bodies, "PIECE_BYTES", 7)
            with received(body, on_disk=True) as on_disk, received(body, on_disk=False) as in_memory:
                assert content(on_disk) == content(in_memory)


def test_a_large_file_is_read_in_place():
    parts = ("text", b"before"), ("file", LARGE), ("text", b"after")
    with received(form(*parts), on_disk=True) as request:
        file = request.files["file"]
        assert request.form.getlist("text") == ["before", "after"]
        assert (file.filename, sha256_of(file)) == ("file.csv", sha256(LARGE).hexdigest())
        assert isinstance(file.stream, io.BufferedReader) and file.stream.read() == LARGE


def test_a_large_body_is_read_in_place():
    with received(LARGE, on_disk=True, content_type="text/csv") as request:
        file = request.body_file
        assert file is not None and isinstance(file.stream, io.BufferedReader)
        assert (file.stream.read(), sha256_of(file)) == (LARGE, sha256(LARGE).hexdigest())


@pytest.mark.parametrize("content_type", [TYPE, "text/csv"])
def test_a_body_on_disk_over_the_limit_is_rejected(content_type: str):
    with received(form(("file", LARGE)), on_disk=True, content_type=content_type) as request:
        request.max_content_length = 100_000
        with pytest.raises(RequestEntityTooLarge):
            _ = request.sent_file
