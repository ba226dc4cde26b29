"""Uploaded files: forms and whole bodies, their hashes and their limit."""

from contextlib import contextmanager
from hashlib import sha256
from tempfile import TemporaryFile

import pytest
from werkzeug.test import create_environ

from webapp.http.bodies import FairboardRequest, sha256_of

FORM = "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="p.csv"\r\n\r\n%s\r\n--b--\r\n'
LARGE = b"1,0.5\r\n--b-" * 100_000


@contextmanager
def received(content_type):
    """Yield a request with a large file, whose body the server has stored on disk."""
    body = PART % LARGE if content_type == FORM else LARGE
    with TemporaryFile() as stream:
        stream.write(body)
        stream.seek(0)
        environ = create_environ(method="POST", input_stream=stream, content_type=content_type)
        with FairboardRequest(environ | {"CONTENT_LENGTH": str(len(body))}) as request:
            yield request


@pytest.mark.parametrize("content_type", [FORM, "text/csv"])
def test_a_large_file_is_received_completely(content_type):
    with received(content_type) as request:
        file = request.sent_file
        assert file is not None and sha256_of(file) == sha256(LARGE).hexdigest()
        assert file.stream.read() == LARGE
    assert file.stream.closed
