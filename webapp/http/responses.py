"""Responses with an ETag: pages, JSON, and stored files, in full or by range."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO, cast

from flask import Response, g, jsonify, make_response, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import ContentRange
from werkzeug.exceptions import RequestedRangeNotSatisfiable
from werkzeug.http import is_resource_modified, parse_if_range_header
from werkzeug.wsgi import wrap_file

BINARY = "application/octet-stream"
PIECE_BYTES = 1 << 18


def polled(state: dict[str, Any]) -> Response:
    """Return JSON with an ETag, for a page that polls it."""
    answer = jsonify(state)
    answer.add_etag()
    return answer


def send(
    stream: BinaryIO, *, name: str, etag: str, modified: datetime | None = None, mimetype: str = BINARY
) -> Response:
    """Return a response that sends a seekable stream and then closes it.

    The server transfers local files itself. Streams from a bucket are read in chunks by this thread.
    """
    size = stream.seek(0, 2)
    stream.seek(0)
    answer = Response(mimetype=mimetype, direct_passthrough=True)
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    answer.headers["Accept-Ranges"] = "bytes"
    answer.set_etag(etag)
    answer.last_modified = modified
    if not is_resource_modified(request.environ, etag=etag, last_modified=modified):
        stream.close()
        answer.status_code = 304
        return answer
    wanted = _asked_range(size, etag, modified)
    if wanted is None:
        answer.content_length = size
        answer.response = wrap_file(request.environ, stream) if _is_local(stream) else _Part(stream, 0, size)
        return answer
    start, end = wanted
    if start >= end:
        stream.close()
        raise RequestedRangeNotSatisfiable(size)
    answer.status_code = 206
    answer.content_length = end - start
    answer.content_range = ContentRange("bytes", start, end, size)
    answer.response = _Part(stream, start, end)
    return answer


class _Part:
    """The bytes of a stream between two offsets."""

    def __init__(self, stream: BinaryIO, start: int, end: int) -> None:
        self._stream, self._left = stream, end - start
        stream.seek(start)

    def __iter__(self) -> Iterator[bytes]:
        while self._left and (data := self._stream.read(min(self._left, PIECE_BYTES))):
            self._left -= len(data)
            yield data

    def close(self) -> None:
        self._stream.close()


def _asked_range(size: int, etag: str, modified: datetime | None) -> tuple[int, int] | None:
    """Return the requested range; None for the whole file, for example if the file has changed."""
    asked = request.range
    if request.method != "GET" or asked is None or asked.units != "bytes" or len(asked.ranges) != 1:
        return None
    known = parse_if_range_header(request.headers.get("If-Range"))
    if known.etag is not None and known.etag != etag:
        return None
    if known.date is not None and (modified is None or known.date != modified.replace(microsecond=0)):
        return None
    return asked.range_for_length(size) or (size, size)


def _is_local(stream: BinaryIO) -> bool:
    try:
        stream.fileno()
    except OSError:
        return False
    return True


def conditional(answer: ResponseReturnValue) -> Response:
    """Add an ETag to a response, or return 304 if the client has the same content.

    If the view has set `g.version`, the ETag starts with it, for the `If-Match` of a later change.
    """
    response = make_response(answer)
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("Authorization")
    response.add_etag()
    if version := g.get("version"):
        response.set_etag(f"{version}.{response.get_etag()[0]}")
    return cast(Response, response.make_conditional(request))


def expected_versions() -> set[str] | None:
    """Return the versions in `If-Match`; None if it is absent or accepts any version."""
    if not request.if_match or request.if_match.star_tag:
        return None
    tags = re.findall(r'"([^"]*)"', request.headers["If-Match"])
    return {re.split(r"[.:]", tag, maxsplit=1)[0] for tag in tags}
